// Command pulumi-resource-kubernetes is the Kubernetes provider plugin, built from its Go module.
//
// The module's own main package embeds files that its release build generates. staging.py makes
// them from two files that the module does ship: schema.json, with the version set, and
// terraform-mapping.json.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var mapping []byte

func main() {
	provider.Serve("kubernetes", version.Version, schema, mapping)
}
