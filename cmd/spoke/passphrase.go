package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/term"

	"github.com/spoke-peer/spoke-go/connect"
	"github.com/spoke-peer/spoke-go/internal/termtext"
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
func loadKey(ctx context.Context, path string) (*connect.Identity, error) {
	id, err := unlocked(ctx, path, func(passphrase []byte) (*connect.Identity, error) {
		return readKey(path, passphrase)
	})
	if err != nil && ctx.Err() == nil {
		return nil, &usageError{err}
	}
	warnOfReaders(path)
	return id, err
}

// warnOfReaders says that others than its owner can read a private key. Windows has other
// permissions than those that Go shows.
func warnOfReaders(path string) {
	file, err := os.Stat(path)
	if err == nil && file.Mode().IsRegular() && file.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		fmt.Fprintf(os.Stderr, "warning: others than its owner can read the private key %s; \"chmod 600\" ends that\n", termtext.Line(path))
	}
}

// readKey reads a private key file.
func readKey(path string, passphrase []byte) (*connect.Identity, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	id, err := connect.ParseIdentity(text, passphrase)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return id, nil
}

// unlocked reads a key, and asks for its passphrase if nobody set it and there is a
// terminal.
func unlocked(ctx context.Context, name string, read func(passphrase []byte) (*connect.Identity, error)) (*connect.Identity, error) {
	given := passphrase()
	id, err := read(given)
	switch {
	case !errors.Is(err, connect.ErrPassphrase):
		return id, err
	case given != nil:
		return nil, &advisedError{err, envPassphrase + " is set, and is not the passphrase of this key"}
	case !term.IsTerminal(int(os.Stdin.Fd())):
		return nil, &advisedError{err, "set " + envPassphrase + ", or be asked on a terminal"}
	}
	if given, err = ask(ctx, "passphrase of "+name+": "); err != nil {
		return nil, err
	}
	return read(given)
}

// newPassphrase is what a new key is to be encrypted with; nil for nothing.
func newPassphrase(ctx context.Context, wanted bool) ([]byte, error) {
	if given := passphrase(); given != nil || !wanted {
		return given, nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, usagef("no terminal to ask for a passphrase: set %s", envPassphrase)
	}
	first, err := ask(ctx, "passphrase of the new key: ")
	if err != nil {
		return nil, err
	}
	second, err := ask(ctx, "the same again: ")
	switch {
	case err != nil:
		return nil, err
	case len(first) == 0:
		return nil, usagef("the passphrase is empty")
	case !bytes.Equal(first, second):
		return nil, usagef("the two passphrases differ")
	}
	return first, nil
}

// ask reads a line from the terminal, which does not show it. When ctx ends first, the
// terminal is as it was before.
func ask(ctx context.Context, prompt string) ([]byte, error) {
	terminal := int(os.Stdin.Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return nil, err
	}
	fmt.Fprint(os.Stderr, prompt)
	defer fmt.Fprintln(os.Stderr)
	type answer struct {
		text []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(terminal)
		read <- answer{text, err}
	}()
	select {
	case a := <-read:
		return a.text, a.err
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), term.Restore(terminal, before))
	}
}
