package rules

import _ "embed"

// PackSchema is the JSON Schema of a pack, for editors. The loader is stricter: it compiles the expressions.
//
//go:embed pack.schema.json
var PackSchema string
