package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
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
		return peerIn(ctx, "stdin", text)
	}
	text, err := readFile(arg)
	switch {
	case err == nil:
		return peerIn(ctx, arg, text)
	case !errors.Is(err, fs.ErrNotExist) && !strings.HasPrefix(arg, "ssh-"):
		return "", err
	}
	peer, err := parsePeer([]byte(arg))
	if err != nil && !strings.HasPrefix(arg, "ssh-") && !isHex(arg) {
		return "", usagef("neither a file, nor a peer id, nor an Ed25519 public key in hex or OpenSSH form")
	}
	return peer, err
}

// isHex reports whether a text is meant as a public key in hex.
func isHex(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && text != ""
}

// peerIn reads the private key, the public key or the peer id of a file.
func peerIn(ctx context.Context, name string, text []byte) (connect.PeerID, error) {
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
	peer, err := parsePeer(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return peer, nil
}

// parsePeer reads a public key or a peer id.
func parsePeer(text []byte) (connect.PeerID, error) {
	if key, err := hex.DecodeString(string(text)); err == nil && len(key) > 0 {
		peer, err := connect.NewPeerID(key)
		if err != nil {
			return "", usagef("%w", err)
		}
		return peer, nil
	}
	peers, err := connect.ParseAllowlist(bytes.NewReader(text))
	if err != nil {
		return "", usagef("no peer id and no Ed25519 public key in hex or OpenSSH form: %w", err)
	}
	if len(peers) != 1 {
		return "", usagef("holds %d peers, not one", len(peers))
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
