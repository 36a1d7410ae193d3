package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"github.com/spoke-peer/spoke-go/connect"
)

func newID() *cobra.Command {
	var o output
	cmd := &cobra.Command{
		Use:   "id KEY|PUBKEY|PEERID",
		Short: "Show a peer: its id, its public key in hex and in OpenSSH form",
		Long: `id shows who a key is. The argument is a private key file, a file with a public key or
a peer id, or the text itself: a peer id, 64 hex digits of a public key, or an
"ssh-ed25519 AAAA..." line. "-" reads it from stdin.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.of(cmd)
			peer, err := peerOf(cmd.Context(), cmd.InOrStdin(), args[0])
			if err != nil {
				return err
			}
			return o.peer(peer)
		},
	}
	o.register(cmd.Flags())
	return cmd
}

// peerOf finds the peer that a file or a text names.
func peerOf(ctx context.Context, stdin io.Reader, arg string) (connect.PeerID, error) {
	if arg == "-" {
		text, err := readInput(stdin, arg)
		if err != nil {
			return "", err
		}
		return parsePeer(ctx, arg, text)
	}
	text, err := readFile(arg)
	switch {
	case err == nil:
		return parsePeer(ctx, arg, text)
	case !errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(arg, "ssh-"):
		return "", err
	}
	return parsePeer(ctx, arg, []byte(arg))
}

// parsePeer reads a private key, a public key or a peer id.
func parsePeer(ctx context.Context, name string, text []byte) (connect.PeerID, error) {
	text = bytes.TrimSpace(text)
	if bytes.HasPrefix(text, []byte("-----BEGIN")) {
		id, err := unlocked(ctx, name, func(passphrase []byte) (*connect.Identity, error) {
			return connect.ParseIdentity(text, passphrase)
		})
		if err != nil {
			return "", &usageError{err}
		}
		return id.PeerID(), nil
	}
	if key, err := hex.DecodeString(string(text)); err == nil && len(key) > 0 {
		peer, err := connect.NewPeerID(key)
		if err != nil {
			return "", usagef("%w", err)
		}
		return peer, nil
	}
	peers, err := connect.ParseAllowlist(bytes.NewReader(text))
	if err != nil || len(peers) != 1 {
		return "", usagef("neither a file, nor a peer id, nor an Ed25519 public key in hex or OpenSSH form")
	}
	return peers[0], nil
}

func (o *output) peer(peer connect.PeerID) error {
	key, err := peer.PublicKey()
	if err != nil {
		return err
	}
	public, err := ssh.NewPublicKey(key)
	if err != nil {
		return err
	}
	return o.facts(
		[2]string{"peer id", string(peer)},
		[2]string{"hex", hex.EncodeToString(key)},
		[2]string{"openssh", strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))},
	)
}
