package connect

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// Key files that OpenSSH and OpenSSL wrote, for these tests only. The encrypted ones
// take filePassphrase.
const (
	filePassphrase = "correct horse battery staple"

	openSSHPlain = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACC4l6e+qU9N7eWa82uoVBhtZpyIp8SDczAToUUetpsV2QAAAJDPRt5hz0be
YQAAAAtzc2gtZWQyNTUxOQAAACC4l6e+qU9N7eWa82uoVBhtZpyIp8SDczAToUUetpsV2Q
AAAECBmgwRHIbV9USvjj3DNlQsFi0HMvFkcuaml7Zod5xVxbiXp76pT03t5Zrza6hUGG1m
nIinxINzMBOhRR62mxXZAAAADWFsaWNlQGV4YW1wbGU=
-----END OPENSSH PRIVATE KEY-----
`
	openSSHPublic = `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILiXp76pT03t5Zrza6hUGG1mnIinxINzMBOhRR62mxXZ alice@example`
	openSSHPeer   = "12D3KooWNEwJvfbQtN4sjWgrK7rscSiiLtmcWbGNtjEGG8DQqJN4"

	openSSHEncrypted = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABBjYw7kAl
hnkQNhLowIB68HAAAAAQAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIMN2gEjS0lVdMp7a
aANUNzLIYuRTLfFNZTJfSmsECeluAAAAkIMwRfVf+hxqTrllGZ+pAC/C3l74UqslXzxcst
K8vtzWpUPk2R8DV8LJUuDHD1wBgZGfu97RfrJbW/qbFJcG1Ek3n98ufFFt+rdtnYTJQTFe
NwKfm7PxYO0kaa3Zj1WyBR9Ytt5K0Cv/w3hnIet0rDDzhH4wgo3rC0eKizFpTHVB4REE1u
LYTc06r+xe6Uru7w==
-----END OPENSSH PRIVATE KEY-----
`
	openSSHEncryptedCBC = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jYmMAAAAGYmNyeXB0AAAAGAAAABBbtftWD1
Gc53paYx3ws0BjAAAAAQAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAAIMN2gEjS0lVdMp7a
aANUNzLIYuRTLfFNZTJfSmsECeluAAAAkA0dg0CMATgSqEGEoSs+BpI+hO2zT9CeKb1FWj
A4liEpSeb56G8AG3yEorT7oOYAILbvxdIFMiO8AdxYzAFGgLvBgllCYT0nQYaF4nKSLtI7
nRpBNcuQmVQuvwOhwq/Exjlu8/6kHBqth1aGwhcYQ/smRUNDw5Z6J6MV7v+QdBFSTN3UCE
OpFlQqseIOJVyZfA==
-----END OPENSSH PRIVATE KEY-----
`
	openSSHEncryptedPeer = "12D3KooWNyNUNwnQTzAHHH7HFeEBYjqWUaLzntKdVe97ZqEbhQjo"

	ecdsaEncrypted = `-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAACmFlczI1Ni1jdHIAAAAGYmNyeXB0AAAAGAAAABA4cQJ1Ic
eBQ51ix6+4tZv1AAAAAQAAAAEAAABoAAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlz
dHAyNTYAAABBBFdGgKPcWF3zvo88i0qWycMh/TfHEZwBNaEHYmFDr2KFervj1sEEn1EmfG
YQzcsIaQiTYEarwQ8DwjPOn3Io/9EAAACgU8TdAHkLeWF3a9hDlILU90qbQbUrx2zldeSd
4lPuEHFz2RHga0IXw1ca7AA8l45ovl5KQQGZu1VwTHPR2KSTHPFwt3xiIS11AQnnBbCwSl
zXIVLOHpL+KxA0+Rt3UYT2N3yvddvzLdrHrpMV9CqVaiarPEmpiZVnVX93PK8j/j49ZnOd
OmgfnpYrMYzWtU74wUxhFLgUGa8wZvVUkvbhhg==
-----END OPENSSH PRIVATE KEY-----
`

	pkcs8Plain = `-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIEeWc9mrIUdUDFk06eZ48CWHufdHTUTIYy/pOkdvTKXE
-----END PRIVATE KEY-----
`
	pkcs8Encrypted = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgukusJJE5ziQICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEH0UOUP5AxZQYXrGXpb3sgEEQLQk
PFXGqjGWCChsFBIiiBB2q0ketitXMFxK1DftPUIRVyyAtWOoH4jIX+PKjkOezD13
p8N+HQN5oflnbNDp+IM=
-----END ENCRYPTED PRIVATE KEY-----
`
	pkcs8Scrypt = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGTME8GCSqGSIb3DQEFDTBCMCEGCSsGAQQB2kcECzAUBAjWin+akEnlTQICBAAC
AQgCAQEwHQYJYIZIAWUDBAEqBBC+aUtR9POkSkiAyqxke00SBEBAM4J5xhjU1QNO
3VjfSfKX0GGn0OXx7Nq4656Proz+j+dyidlgYZA/OKbgld2+k2lqhl1jcgnF8byM
zjcV3Kf7
-----END ENCRYPTED PRIVATE KEY-----
`
	pkcs8SHA512 = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg0fkL6Db1uGwICCAAw
DAYIKoZIhvcNAgsFADAdBglghkgBZQMEASoEEKNoCHuSXU27M7E5uiFtI5YEQGTO
wnn6tsAaDT4FsPd4DeLtriDwvD7gsplOHur371wunIxrgKC2sunL1XqEE0plQlcf
V6b3n8xBNgVuElkeGF8=
-----END ENCRYPTED PRIVATE KEY-----
`
	pkcs8PBES1 = `-----BEGIN ENCRYPTED PRIVATE KEY-----
MFgwHAYKKoZIhvcNAQwBAzAOBAgN9ZuZqkfi8QICCAAEOJTlbZBWOXhXHHEwYe5t
U77/fAL/3Mg9lDq2SRrnuF3hVsLEGaIQDcME58t6umLN3SusKjqwhAGl
-----END ENCRYPTED PRIVATE KEY-----
`
	pkcs8Peer = "12D3KooWJeEhv4ucTL4kse7P33LyzZw46o2mMJPpJuzRjqUM4G96"
)

func TestKeyFilesOfOpenSSHAndOpenSSL(t *testing.T) {
	for name, c := range map[string]struct {
		file, passphrase, peer string
	}{
		"OpenSSH, unencrypted":                       {openSSHPlain, "", openSSHPeer},
		"OpenSSH, unencrypted, with a passphrase":    {openSSHPlain, "not needed", openSSHPeer},
		"OpenSSH, aes256-ctr":                        {openSSHEncrypted, filePassphrase, openSSHEncryptedPeer},
		"OpenSSH, aes256-cbc":                        {openSSHEncryptedCBC, filePassphrase, openSSHEncryptedPeer},
		"PKCS#8, unencrypted":                        {pkcs8Plain, "", pkcs8Peer},
		"PKCS#8, unencrypted, with a passphrase":     {pkcs8Plain, "not needed", pkcs8Peer},
		"PKCS#8, PBES2 with PBKDF2":                  {pkcs8Encrypted, filePassphrase, pkcs8Peer},
		"PKCS#8, PBES2 with scrypt":                  {pkcs8Scrypt, filePassphrase, pkcs8Peer},
		"a file with Windows line ends":              {strings.ReplaceAll(openSSHPlain, "\n", "\r\n"), "", openSSHPeer},
		"a file with text around the key":            {"My key:\n" + pkcs8Plain + "the end\n", "", pkcs8Peer},
		"an encrypted file with text around the key": {"My key:\n" + openSSHEncrypted + "the end\n", filePassphrase, openSSHEncryptedPeer},
	} {
		t.Run(name+" is read", func(t *testing.T) {
			id, err := ParseIdentity([]byte(c.file), []byte(c.passphrase))
			require.NoError(t, err)
			assert.Equal(t, c.peer, string(id.PeerID()))
			assert.True(t, ed25519.Verify(id.PublicKey(), []byte("m"), id.Sign([]byte("m"))))

			path := writeFile(t, c.file)
			loaded, err := LoadIdentity(path, []byte(c.passphrase))
			require.NoError(t, err)
			assert.Equal(t, id.PeerID(), loaded.PeerID())
		})
	}
}

func writeFile(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestAnEncryptedKeyFileWantsItsPassphrase(t *testing.T) {
	for name, file := range map[string]string{
		"OpenSSH, aes256-ctr":       openSSHEncrypted,
		"OpenSSH, aes256-cbc":       openSSHEncryptedCBC,
		"PKCS#8, PBES2 with PBKDF2": pkcs8Encrypted,
		"PKCS#8, PBES2 with scrypt": pkcs8Scrypt,
	} {
		for _, passphrase := range []string{"", "wrong", filePassphrase + "\n", strings.ToUpper(filePassphrase)} {
			t.Run(name+": no key for the passphrase "+passphrase, func(t *testing.T) {
				id, err := ParseIdentity([]byte(file), []byte(passphrase))
				require.ErrorIs(t, err, ErrPassphrase)
				assert.Nil(t, id)
				assertQuotesNothing(t, err, file, passphrase)
			})
		}
		_, err := LoadIdentity(writeFile(t, file), nil)
		require.ErrorIs(t, err, ErrPassphrase)
	}
}

// assertQuotesNothing asserts that an error shows neither a part of a key file's body
// nor the passphrase.
func assertQuotesNothing(t testing.TB, err error, file, passphrase string) {
	t.Helper()
	text := err.Error()
	if len(passphrase) > 3 && passphrase != "wrong" { // "wrong" is a word of the error's own
		assert.NotContains(t, text, passphrase)
	}
	const window = 10
	for line := range strings.Lines(file) {
		if strings.HasPrefix(line, "-----") {
			continue
		}
		for i := 0; i+window <= len(line); i++ {
			assert.NotContains(t, text, line[i:i+window])
		}
	}
	assertNoSecret(t, text)
}

func TestOurKeyFilesAreReadBack(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(leakSeed()))
	require.NoError(t, err)
	file, err := id.MarshalOpenSSH("a comment", nil)
	require.NoError(t, err)
	for name, file := range map[string][]byte{"PKCS#8 by crypto/x509": pemOf("PRIVATE KEY", der), "MarshalOpenSSH": file} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseIdentity(file, nil)
			require.NoError(t, err)
			assert.Equal(t, id.PeerID(), got.PeerID())
			assert.Equal(t, id.Sign([]byte("m")), got.Sign([]byte("m")))
		})
	}
}

// The key derivation of OpenSSH is slow on purpose, so one passphrase does for all.
func TestAKeyFileWithAPassphraseHidesTheKey(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	plain, err := id.MarshalOpenSSH("", nil)
	require.NoError(t, err)
	encrypted, err := id.MarshalOpenSSH("", []byte("secret"))
	require.NoError(t, err)
	assert.True(t, reachesSecret(plainBytes(t, plain)), "an unencrypted file contains the seed")
	assert.False(t, reachesSecret(plainBytes(t, encrypted)), "an encrypted file does not")
	_, err = ParseIdentity(encrypted, nil)
	require.ErrorIs(t, err, ErrPassphrase)
	t.Run("ssh-keygen reads it", func(t *testing.T) {
		assert.Equal(t, []PeerID{id.PeerID()}, publicHalf(t, encrypted, "secret"))
	})
}

// publicHalf returns what ssh-keygen reads from a key file.
func publicHalf(t testing.TB, file []byte, passphrase string) []PeerID {
	t.Helper()
	public := sshKeygen(t, "-y", "-P", passphrase, "-f", writeFile(t, string(file)))
	peers, err := ParseAllowlist(bytes.NewReader(public))
	require.NoError(t, err)
	return peers
}

func pemOf(label string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der})
}

func plainBytes(t testing.TB, file []byte) []byte {
	t.Helper()
	block, rest := pem.Decode(file)
	require.NotNil(t, block)
	require.Empty(t, rest)
	return block.Bytes
}

func sshKeygen(t testing.TB, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("no ssh-keygen on this machine; the key files in this test's source still cover its format")
	}
	out, err := exec.Command(path, args...).Output()
	require.NoError(t, err)
	return out
}

func TestAFreshKeyOfSSHKeygenIsRead(t *testing.T) {
	for _, passphrase := range []string{"", filePassphrase} {
		path := filepath.Join(t.TempDir(), "key")
		sshKeygen(t, "-q", "-t", "ed25519", "-a", "2", "-N", passphrase, "-C", "test", "-f", path)
		id, err := LoadIdentity(path, []byte(passphrase))
		require.NoError(t, err)
		peers, err := LoadAllowlist(path + ".pub")
		require.NoError(t, err)
		assert.Equal(t, []PeerID{id.PeerID()}, peers)
	}
}

func TestSSHKeygenReadsOurKeyFiles(t *testing.T) {
	id := identityOfSeed(t, leakSeed())
	file, err := id.MarshalOpenSSH("mine", nil)
	require.NoError(t, err)
	assert.Equal(t, []PeerID{id.PeerID()}, publicHalf(t, file, ""))
}

func TestOtherKindsOfKeysAreRefusedByName(t *testing.T) {
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	sec1, err := x509.MarshalECPrivateKey(ecKey)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"an ECDSA key in SEC 1":    {pemOf("EC PRIVATE KEY", sec1), "*ecdsa.PrivateKey"},
		"an ECDSA key in PKCS#8":   {pkcs8File(t, ecKey), "*ecdsa.PrivateKey"},
		"an ECDSA key in OpenSSH":  {openSSHFile(t, ecKey), "*ecdsa.PrivateKey"},
		"an encrypted ECDSA key":   {[]byte(ecdsaEncrypted), "*ecdsa.PrivateKey"},
		"an RSA key in PKCS#1":     {pemOf("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsaKey)), "*rsa.PrivateKey"},
		"an RSA key in PKCS#8":     {pkcs8File(t, rsaKey), "*rsa.PrivateKey"},
		"an RSA key in OpenSSH":    {openSSHFile(t, rsaKey), "*rsa.PrivateKey"},
		"a public key":             {pemOf("PUBLIC KEY", []byte{0x30, 0}), "PUBLIC KEY"},
		"a certificate":            {pemOf("CERTIFICATE", []byte{0x30, 0}), "CERTIFICATE"},
		"an OpenSSH public key":    {[]byte(openSSHPublic), "not a PEM key file"},
		"an X25519 key in PKCS#8":  {x25519File(t), "*ecdh.PrivateKey"},
		"a key with a false label": {pemOf("OPENSSH PRIVATE KEY", sec1), "cannot read the private key"},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := ParseIdentity(c.file, []byte(filePassphrase))
			require.ErrorContains(t, err, c.want)
			require.NotErrorIs(t, err, ErrPassphrase)
			assert.Nil(t, id)
			assertQuotesNothing(t, err, string(c.file), filePassphrase)
		})
	}
}

func pkcs8File(t testing.TB, key crypto.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return pemOf("PRIVATE KEY", der)
}

func openSSHFile(t testing.TB, key crypto.PrivateKey) []byte {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	return pem.EncodeToMemory(block)
}

// x25519File is the Ed25519 key file of pkcs8Plain under the OID of X25519.
func x25519File(t testing.TB) []byte {
	t.Helper()
	ed, x := []byte{0x2b, 0x65, 0x70}, []byte{0x2b, 0x65, 0x6e}
	return pemOf("PRIVATE KEY", bytes.Replace(plainBytes(t, []byte(pkcs8Plain)), ed, x, 1))
}

func TestAKeyFileWithAnothersPublicHalfIsRefused(t *testing.T) {
	file := openSSHFile(t, mismatchedKey())
	_, err := ParseIdentity(file, nil)
	require.ErrorContains(t, err, "public half")
	assertQuotesNothing(t, err, string(file), "")
}

func TestTextThatIsNoKeyFileIsRefusedUnquoted(t *testing.T) {
	const body = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"
	for name, file := range map[string]string{
		"an empty file":               "",
		"a line break":                "\n",
		"garbage":                     body,
		"binary garbage":              "\x00\xff\xfe" + body,
		"a head without an end":       openSSHPlain[:120],
		"an empty block":              "-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n",
		"an empty PKCS#8 block":       "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
		"an OpenSSH label on noise":   "-----BEGIN OPENSSH PRIVATE KEY-----\n" + body + "\n-----END OPENSSH PRIVATE KEY-----\n",
		"a PKCS#8 label on noise":     "-----BEGIN PRIVATE KEY-----\n" + body + "\n-----END PRIVATE KEY-----\n",
		"an encrypted label on noise": "-----BEGIN ENCRYPTED PRIVATE KEY-----\n" + body + "\n-----END ENCRYPTED PRIVATE KEY-----\n",
		"a PuTTY key":                 "PuTTY-User-Key-File-3: ssh-ed25519\n" + body + "\n",
		"a seed in hex":               strings.Repeat("0123456789abcdef", 4),
	} {
		t.Run(name, func(t *testing.T) {
			for _, passphrase := range []string{"", filePassphrase} {
				id, err := ParseIdentity([]byte(file), []byte(passphrase))
				require.Error(t, err)
				assert.Nil(t, id)
				assertQuotesNothing(t, err, file, passphrase)
				assert.NotContains(t, err.Error(), "secret-secret")
			}
		})
	}
}

// Every cut of a key's bytes is refused, and never with a part of them.
func TestDamagedKeyFilesAreRefusedUnquoted(t *testing.T) {
	for name, file := range map[string]string{"OpenSSH": openSSHPlain, "PKCS#8": pkcs8Plain} {
		block, _ := pem.Decode([]byte(file))
		require.NotNil(t, block)
		for n := range block.Bytes {
			cut := string(pemOf(block.Type, block.Bytes[:n]))
			_, err := ParseIdentity([]byte(cut), nil)
			require.Error(t, err, "%s cut to %d bytes", name, n)
			assertQuotesNothing(t, err, file, "")
		}
		for i := range block.Bytes {
			damaged := bytes.Clone(block.Bytes)
			damaged[i] ^= 0x40
			// Some bytes are padding, a comment or a version: no error is fine, and so
			// is another key where there is no public half to compare with.
			if _, err := ParseIdentity(pemOf(block.Type, damaged), nil); err != nil {
				assertQuotesNothing(t, err, file, "")
			}
		}
	}
}

// encryptedPKCS8 is the outer structure of an encrypted PKCS#8 file.
type encryptedPKCS8 struct {
	Algorithm struct {
		OID    asn1.ObjectIdentifier
		Params struct{ KDF, Cipher pkix.AlgorithmIdentifier }
	}
	Data []byte
}

func TestADamagedEncryptedKeyFileIsNotTakenForAWrongPassphrase(t *testing.T) {
	damage := func(change func(f *encryptedPKCS8)) string {
		var f encryptedPKCS8
		_, err := asn1.Unmarshal(plainBytes(t, []byte(pkcs8Encrypted)), &f)
		require.NoError(t, err)
		change(&f)
		der, err := asn1.Marshal(f)
		require.NoError(t, err)
		return string(pemOf("ENCRYPTED PRIVATE KEY", der))
	}
	_, err := ParseIdentity([]byte(damage(func(*encryptedPKCS8) {})), []byte(filePassphrase))
	require.NoError(t, err, "the file without damage is read")
	shortIV := asn1.RawValue{FullBytes: []byte{0x04, 0x02, 1, 2}}
	for name, file := range map[string]string{
		"a text that ends within a block": damage(func(f *encryptedPKCS8) { f.Data = f.Data[:len(f.Data)-1] }),
		"an initial vector of two bytes":  damage(func(f *encryptedPKCS8) { f.Algorithm.Params.Cipher.Parameters = shortIV }),
		"no parameters of the cipher":     damage(func(f *encryptedPKCS8) { f.Algorithm.Params.Cipher.Parameters = asn1.RawValue{} }),
		"no parameters of the hash":       damage(func(f *encryptedPKCS8) { f.Algorithm.Params.KDF.Parameters = asn1.RawValue{} }),
		"an unknown cipher":               damage(func(f *encryptedPKCS8) { f.Algorithm.Params.Cipher.Algorithm = asn1.ObjectIdentifier{1, 2, 3} }),
		"an unknown scheme":               damage(func(f *encryptedPKCS8) { f.Algorithm.OID = asn1.ObjectIdentifier{1, 2, 3} }),
		"PBES1":                           pkcs8PBES1,
		"PBKDF2 with SHA-512":             pkcs8SHA512,
	} {
		t.Run(name, func(t *testing.T) {
			id, err := ParseIdentity([]byte(file), []byte(filePassphrase))
			require.Error(t, err)
			require.NotErrorIs(t, err, ErrPassphrase, "asking for the passphrase again would not help")
			assert.Nil(t, id)
			assertQuotesNothing(t, err, file, filePassphrase)
		})
	}
}

func TestADamagedEncryptedOpenSSHFileIsNotTakenForAWrongPassphrase(t *testing.T) {
	der := plainBytes(t, []byte(openSSHEncrypted))
	for name, file := range map[string][]byte{
		"an unknown cipher":    bytes.Replace(der, []byte("aes256-ctr"), []byte("aes257-ctr"), 1),
		"an unknown KDF":       bytes.Replace(der, []byte("bcrypt"), []byte("scrypt"), 1),
		"a cut of one byte":    der[:len(der)-1],
		"two keys in a file":   bytes.Replace(der, []byte{0, 0, 0, 1, 0, 0, 0, 0x33}, []byte{0, 0, 0, 2, 0, 0, 0, 0x33}, 1),
		"a KDF without rounds": bytes.Replace(der, []byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0x33}, []byte{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x33}, 1),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, der, file)
			_, err := ParseIdentity(pemOf("OPENSSH PRIVATE KEY", file), []byte(filePassphrase))
			require.Error(t, err)
			require.NotErrorIs(t, err, ErrPassphrase)
			assertQuotesNothing(t, err, openSSHEncrypted, filePassphrase)
		})
	}
}

func TestAMissingKeyFileIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no-such-key")
	id, err := LoadIdentity(path, nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, "no-such-key")
	assert.Nil(t, id)
	_, err = LoadIdentity(t.TempDir(), nil)
	require.Error(t, err, "a directory is no key file")

	bad := writeFile(t, "garbage")
	_, err = LoadIdentity(bad, nil)
	require.ErrorContains(t, err, bad)
}

func TestTheContentOfAKeyFileIsNotChanged(t *testing.T) {
	for _, file := range []string{openSSHPlain, openSSHEncrypted, openSSHEncryptedCBC, pkcs8Plain, pkcs8Encrypted} {
		data, passphrase := []byte(file), []byte(filePassphrase)
		_, err := ParseIdentity(data, passphrase)
		require.NoError(t, err)
		assert.Equal(t, file, string(data))
		assert.Equal(t, filePassphrase, string(passphrase))
	}
}

func TestACreatedKeyFileIsTheOwnersAlone(t *testing.T) {
	for _, passphrase := range []string{"", "secret"} {
		path := filepath.Join(t.TempDir(), "key")
		id, err := CreateIdentity(path, []byte(passphrase))
		require.NoError(t, err)
		info, err := os.Stat(path)
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			assert.Equal(t, fs.FileMode(0o600), info.Mode())
		}
		loaded, err := LoadIdentity(path, []byte(passphrase))
		require.NoError(t, err)
		assert.Equal(t, id.PeerID(), loaded.PeerID())
		assert.Equal(t, id.Sign([]byte("m")), loaded.Sign([]byte("m")))
		if passphrase != "" {
			_, err = LoadIdentity(path, nil)
			require.ErrorIs(t, err, ErrPassphrase)
		}
	}
}

func TestCreatingAnIdentityNeverTouchesAFileThatExists(t *testing.T) {
	path := writeFile(t, openSSHPlain)
	id, err := CreateIdentity(path, nil)
	require.ErrorIs(t, err, os.ErrExist)
	assert.Nil(t, id)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, openSSHPlain, string(content))

	missing := filepath.Join(t.TempDir(), "no-such-folder", "key")
	_, err = CreateIdentity(missing, nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
