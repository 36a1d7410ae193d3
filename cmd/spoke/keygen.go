package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/spoke-peer/spoke-go/connect"
)

// envPassphrase names the variable with the passphrase of key files.
const envPassphrase = "SPOKE_PASSPHRASE"

// passphrase returns what decrypts key files, nil when nobody set it.
func passphrase() []byte {
	if text := os.Getenv(envPassphrase); text != "" {
		return []byte(text)
	}
	return nil
}

// loadKey reads a private key file that a setting names.
func loadKey(path string) (*connect.Identity, error) {
	id, err := connect.LoadIdentity(path, passphrase())
	if err != nil {
		return nil, &usageError{passphraseAdvice(err)}
	}
	return id, nil
}

func newKeygen() *cobra.Command {
	var o output
	var path string
	cmd := &cobra.Command{
		Use:   "keygen",
		Short: "Make a private key",
		Long: `keygen makes an Ed25519 key in OpenSSH format. With -o it writes a file that only its
owner can read and prints the peer id; a file that exists is left alone. Without -o the
key goes to stdout and the peer id to stderr. SPOKE_PASSPHRASE, unless empty, encrypts it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.of(cmd)
			if path == "" {
				return o.printKey()
			}
			return o.writeKey(path)
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "file to write; it must not exist")
	o.register(cmd.Flags())
	return cmd
}

func (o *output) writeKey(path string) error {
	id, err := connect.CreateIdentity(path, passphrase())
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

func (o *output) printKey() error {
	id, err := connect.GenerateIdentity()
	if err != nil {
		return err
	}
	text, err := id.MarshalOpenSSH("", passphrase())
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
