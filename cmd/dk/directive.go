package main

import (
	_ "embed"

	"github.com/spf13/cobra"
)

//go:embed directive.txt
var directiveText string

func (a *app) directiveCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "directive",
		Short:   "Print the text that asks an agent to make checkable claims",
		Long:    "directive prints the text to append to an agent's system prompt, so that it ends its work with claims that dk can check.",
		Example: `  claude --append-system-prompt "$(dk directive)"`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			a.out.printf("%s", directiveText)
			return nil
		},
	}
}
