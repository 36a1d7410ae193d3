package connect

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

func TestWhatAnAllowlistMayContain(t *testing.T) {
	const a, b, both = openSSHPeer, openSSHEncryptedPeer, openSSHPeer + " " + openSSHEncryptedPeer
	for name, c := range map[string]struct{ file, want string }{
		"nothing":                             {"", ""},
		"comments and blank lines only":       {"# nobody\n\n   \n\t\n#\n", ""},
		"one peer id":                         {a + "\n", a},
		"a last line without an end":          {a + "\n" + b, both},
		"an OpenSSH public key":               {openSSHPublic + "\n", a},
		"an OpenSSH public key, no comment":   {strings.TrimSuffix(openSSHPublic, " alice@example"), a},
		"an OpenSSH comment of several words": {openSSHPublic + " at work", a},
		"a hash in an OpenSSH comment":        {openSSHPublic + "#1\n" + b, both},
		"a comment behind a peer id":          {a + " # alice\n" + b + "# bob\n", both},
		"a comment behind an OpenSSH key":     {openSSHPublic + " # alice\n", a},
		"a peer id in a comment":              {"#" + a + "\n" + b, b},
		"space around a line":                 {"\t " + a + " \t\n  " + b, both},
		"Windows line ends":                   {"# list\r\n\r\n" + a + "\r\n" + openSSHPublic + "\r\n" + b + "\r\n", a + " " + both},
		"a peer that is listed twice":         {a + "\n" + a + "\n", a + " " + a},
	} {
		t.Run(name, func(t *testing.T) {
			peers, err := ParseAllowlist(strings.NewReader(c.file))
			require.NoError(t, err)
			got := make([]string, len(peers))
			for i, peer := range peers {
				got[i] = string(peer)
			}
			assert.Equal(t, c.want, strings.Join(got, " "))

			loaded, err := LoadAllowlist(writeFile(t, c.file))
			require.NoError(t, err)
			assert.Equal(t, peers, loaded)
		})
	}
}

// publicLine is the authorized_keys line of a key.
func publicLine(t testing.TB, key any) string {
	t.Helper()
	public, err := ssh.NewPublicKey(key)
	require.NoError(t, err)
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public)))
}

func TestABadLineOfAnAllowlistIsNamed(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	rsaLine, ecLine := publicLine(t, rsaKey.Public()), publicLine(t, ecKey.Public())
	require.True(t, strings.HasPrefix(rsaLine, "ssh-rsa "))
	ed25519Blob := strings.Fields(openSSHPublic)[1]
	for name, line := range map[string]string{
		"an RSA key":                           rsaLine,
		"an ECDSA key":                         ecLine,
		"an RSA key that claims to be Ed25519": "ssh-ed25519 " + strings.Fields(rsaLine)[1],
		"an Ed25519 key that claims to be RSA": "ssh-rsa " + ed25519Blob,
		"a key without its bytes":              "ssh-ed25519",
		"a key with bytes that are no base64":  "ssh-ed25519 AAAA!",
		"a key that is cut short":              "ssh-ed25519 " + ed25519Blob[:40],
		"options before a key":                 `restrict,from="10.0.0.1" ` + openSSHPublic,
		"options that look like a key type":    "ssh-restricted " + openSSHPublic,
		"two peer ids on a line":               openSSHPeer + " " + openSSHEncryptedPeer,
		"a peer id with a name":                openSSHPeer + " alice",
		"a peer id with a typing error":        "12D3KooWNEwJvfbQtN4sjWgrK7rscSiiLtmcWbGNtjEGG8DQqJN5x",
		"a word":                               "everybody",
		"a star":                               "*",
		"a line of 100,000 characters":         strings.Repeat("1", 100_000),
		"a private key file":                   "-----BEGIN OPENSSH PRIVATE KEY-----",
		"a byte order mark":                    "\ufeff" + openSSHPeer,
	} {
		t.Run(name, func(t *testing.T) {
			file := "# head\n" + openSSHPeer + "\r\n\n" + line + "\n" + openSSHEncryptedPeer + "\n"
			peers, err := ParseAllowlist(strings.NewReader(file))
			require.ErrorContains(t, err, "line 4")
			assert.Empty(t, peers, "one bad line and nobody is listed")
			assert.Less(t, len(err.Error()), 500)

			path := writeFile(t, file)
			_, err = LoadAllowlist(path)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, "line 4")
		})
	}
	_, err = ParseAllowlist(strings.NewReader(rsaLine))
	require.ErrorContains(t, err, "ssh-rsa")
	require.ErrorContains(t, err, "want ssh-ed25519")
}

func TestAnAllowlistThatCannotBeReadListsNobody(t *testing.T) {
	broken := errors.New("broken disk")
	peers, err := ParseAllowlist(iotest.TimeoutReader(strings.NewReader(openSSHPeer + "\n")))
	require.ErrorIs(t, err, iotest.ErrTimeout)
	assert.Empty(t, peers)
	_, err = ParseAllowlist(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)

	_, err = LoadAllowlist(filepath.Join(t.TempDir(), "no-such-list"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "no-such-list")
}

func TestAnAllowlistMayArriveByteByByte(t *testing.T) {
	file := []byte(openSSHPublic + "\r\n# x\r\n" + openSSHEncryptedPeer)
	peers, err := ParseAllowlist(iotest.OneByteReader(bytes.NewReader(file)))
	require.NoError(t, err)
	assert.Equal(t, []PeerID{openSSHPeer, openSSHEncryptedPeer}, peers)
}
