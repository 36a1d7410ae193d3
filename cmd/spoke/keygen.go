package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/connect"
)

func newKeygen() *cobra.Command {
	var o output
	var path string
	var encrypt bool
	cmd := &cobra.Command{
		Use:   "keygen",
		Short: "Make a private key",
		Long: `keygen makes an Ed25519 key in OpenSSH format. With -o it writes a file that only its
owner can read and prints the peer id; a file that exists is left alone. Without -o the
key goes to stdout and the peer id to stderr. SPOKE_PASSPHRASE, unless empty, encrypts it;
with --encrypt the terminal is asked for a passphrase if it is not set.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.of(cmd)
			if path == "" && cmd.Flags().Changed("output") {
				return usagef("-o: no file is named; without -o the key goes to stdout")
			}
			secret, err := newPassphrase(cmd.Context(), encrypt)
			if err != nil {
				return err
			}
			if path == "" {
				return o.printKey(secret)
			}
			return o.writeKey(path, secret)
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "file to write; it must not exist")
	cmd.Flags().BoolVar(&encrypt, "encrypt", false, "encrypt the key with a passphrase")
	o.register(cmd.Flags())
	return cmd
}

func (o *output) writeKey(path string, passphrase []byte) error {
	id, err := connect.CreateIdentity(path, passphrase)
	if errors.Is(err, fs.ErrExist) {
		return &advisedError{err, "give another file with -o; \"spoke id " + path + "\" shows whose key that one is"}
	}
	if err != nil {
		return err
	}
	if o.json {
		return o.facts([2]string{"peer id", string(id.PeerID())}, [2]string{"file", path})
	}
	_, err = fmt.Fprintln(o.out, id.PeerID())
	return err
}

func (o *output) printKey(passphrase []byte) error {
	id, err := connect.GenerateIdentity()
	if err != nil {
		return err
	}
	text, err := id.MarshalOpenSSH("", passphrase)
	if err != nil {
		return err
	}
	if o.json {
		return o.facts([2]string{"peer id", string(id.PeerID())}, [2]string{"key", string(text)})
	}
	fmt.Fprintf(o.err, "peer id: %s\n", id.PeerID())
	_, err = o.out.Write(text)
	return err
}
