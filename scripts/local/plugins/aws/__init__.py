"""pulumi-resource-aws: the stand-in of the AWS provider, a table of types over one engine."""
