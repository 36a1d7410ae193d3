package main

import "github.com/spf13/cobra"

// family makes a command of nothing but subcommands.
func family(use, short string, members ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(members...)
	strict(cmd)
	return cmd
}

// strict makes a command that is nothing alone show its help, and a word that is none of
// its subcommands a mistake.
func strict(cmd *cobra.Command) {
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// strictHelp does the same to what cobra brings, help and completion. The output of root
// is set before.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = knownTopic
		case "completion":
			strict(cmd)
		}
	}
}

// knownTopic lets help be asked for to commands that there are.
func knownTopic(cmd *cobra.Command, args []string) error {
	topic, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) == 0 || !topic.HasSubCommands() {
		return err
	}
	return cobra.NoArgs(topic, rest)
}
