"""Stand up one site: read the stack's settings, build the layers, export what others need."""

import pulumi

from components.settings import stack_settings
from components.site import Site
from components.site_config import SiteConfig

site = Site(stack_settings(SiteConfig), stack=pulumi.get_stack())
for name, value in site.outputs.items():
    pulumi.export(name, value)
