package connect

import (
	"bufio"
	"crypto/ed25519"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
)

// LoadAllowlist reads the peer ids of a file; see [ParseAllowlist].
func LoadAllowlist(path string) ([]PeerID, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("load allowlist: %w", err)
	}
	defer f.Close()
	peers, err := ParseAllowlist(f)
	if err != nil {
		return nil, fmt.Errorf("load allowlist %s: %w", path, err)
	}
	return peers, nil
}

// ParseAllowlist reads one peer per line: a peer id, or an OpenSSH public key line
// ("ssh-ed25519 AAAA… comment"). Blank lines and text from a # on are skipped. The
// first bad line is an error that names it; nothing is returned then.
func ParseAllowlist(r io.Reader) ([]PeerID, error) {
	var peers []PeerID
	lines := bufio.NewScanner(r)
	n := 1
	for ; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		peer, err := parseAllowed(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		peers = append(peers, peer)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	return peers, nil
}

func parseAllowed(line string) (PeerID, error) {
	if !strings.HasPrefix(line, "ssh-") {
		return ParsePeerID(line)
	}
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		return "", fmt.Errorf("not an OpenSSH public key: %w", err)
	}
	if len(options) > 0 {
		return "", fmt.Errorf("options before an OpenSSH public key have no meaning here")
	}
	if crypto, ok := key.(ssh.CryptoPublicKey); ok {
		if public, ok := crypto.CryptoPublicKey().(ed25519.PublicKey); ok {
			return NewPeerID(public)
		}
	}
	return "", fmt.Errorf("a %s key, want ssh-ed25519", key.Type())
}
