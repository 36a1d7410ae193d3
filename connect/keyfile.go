package connect

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"github.com/youmark/pkcs8"
	"golang.org/x/crypto/ssh"
)

// ErrPassphrase is matched by the error of a key file that is encrypted and was read
// without a passphrase or with a wrong one.
var ErrPassphrase = errors.New("the key file is encrypted: missing or wrong passphrase")

// CreateIdentity generates an identity and writes it to a new OpenSSH key file that
// only its owner can read. A file that exists is left alone and is an error that
// matches [os.ErrExist]. An empty passphrase leaves the key unencrypted.
func CreateIdentity(path string, passphrase []byte) (*Identity, error) {
	id, err := GenerateIdentity()
	if err != nil {
		return nil, err
	}
	data, err := id.MarshalOpenSSH("", passphrase)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create identity: %w", err)
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		return nil, fmt.Errorf("create identity: %w", err)
	}
	return id, nil
}

// LoadIdentity reads an Ed25519 private key file in OpenSSH or PKCS#8 PEM form.
// Passphrase decrypts it; nil reads an unencrypted one.
func LoadIdentity(path string, passphrase []byte) (*Identity, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load identity: %w", err)
	}
	id, err := ParseIdentity(data, passphrase)
	if err != nil {
		return nil, fmt.Errorf("load identity %s: %w", path, err)
	}
	return id, nil
}

// ParseIdentity is [LoadIdentity] for the file's content. Its errors never quote key
// material.
func ParseIdentity(data, passphrase []byte) (*Identity, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("not a PEM key file")
	}
	key, err := parsePrivateKey(data, block, passphrase)
	if err != nil {
		return nil, err
	}
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return IdentityFromKey(key)
	case *ed25519.PrivateKey:
		return IdentityFromKey(*key)
	default:
		return nil, fmt.Errorf("the key file holds a %T, want an Ed25519 private key", key)
	}
}

func parsePrivateKey(data []byte, block *pem.Block, passphrase []byte) (any, error) {
	if block.Type == "ENCRYPTED PRIVATE KEY" {
		return parseEncryptedPKCS8(block.Bytes, passphrase)
	}
	key, err := ssh.ParseRawPrivateKey(data)
	if _, missing := errors.AsType[*ssh.PassphraseMissingError](err); missing {
		return parseEncryptedPEM(data, passphrase)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the private key: %w", err)
	}
	return key, nil
}

func parseEncryptedPEM(data, passphrase []byte) (any, error) {
	if len(passphrase) == 0 {
		return nil, ErrPassphrase
	}
	key, err := ssh.ParseRawPrivateKeyWithPassphrase(data, passphrase)
	if errors.Is(err, x509.IncorrectPasswordError) {
		return nil, ErrPassphrase
	}
	if err != nil {
		return nil, fmt.Errorf("cannot decrypt the private key: %w", err)
	}
	return key, nil
}

func parseEncryptedPKCS8(der, passphrase []byte) (any, error) {
	if len(passphrase) == 0 {
		return nil, ErrPassphrase
	}
	key, err := decryptPKCS8(der, passphrase)
	if err == nil {
		return key, nil
	}
	if err.Error() == "pkcs8: incorrect password" { // the package has no value for it
		return nil, ErrPassphrase
	}
	return nil, fmt.Errorf("cannot decrypt the private key: %w", err)
}

// decryptPKCS8 makes an error of the panic with which package pkcs8 answers a damaged
// file, such as one whose ciphertext ends within a block.
func decryptPKCS8(der, passphrase []byte) (key any, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("damaged PKCS#8 file")
		}
	}()
	return pkcs8.ParsePKCS8PrivateKey(der, passphrase)
}
