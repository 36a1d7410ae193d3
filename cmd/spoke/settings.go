package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// settings are where the values of flags come from that nobody gave: the environment,
// then a profile.
type settings struct{ config, profile string }

// settable are the flags that the environment and a profile can set; the first ones
// name files.
var settable = []string{"key", "manifest", "url", "peer", "timeout"}

const settableFiles = 2

func (s *settings) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.profile, "profile", "", "profile to take settings from (env SPOKE_PROFILE)")
	flags.StringVar(&s.config, "config", "", "file of profiles (env SPOKE_CONFIG; default spoke/profiles.json in the user's configuration directory)")
}

// envOf is the environment variable of a flag.
func envOf(flag string) string { return "SPOKE_" + strings.ToUpper(flag) }

// fill sets the flags that were not given.
func (s *settings) fill(flags *pflag.FlagSet) error { return s.fillOnly(flags, settable...) }

// fillOnly sets those of the named flags that were not given.
func (s *settings) fillOnly(flags *pflag.FlagSet, names ...string) error {
	for _, name := range append([]string{"profile", "config"}, names...) {
		if text := os.Getenv(envOf(name)); text != "" {
			if err := setAbsent(flags, name, text); err != nil {
				return usagef("%s: %w", envOf(name), err)
			}
		}
	}
	path, values, err := s.read()
	if err != nil {
		return &usageError{err}
	}
	for name, text := range values {
		if slices.Index(settable, name) < settableFiles && !filepath.IsAbs(text) {
			text = filepath.Join(filepath.Dir(path), text)
		}
		if !slices.Contains(names, name) {
			continue
		}
		if err := setAbsent(flags, name, text); err != nil {
			return usagef("%s: %s: %w", path, name, err)
		}
	}
	return nil
}

// setAbsent sets a flag that the command has and that was not set.
func setAbsent(flags *pflag.FlagSet, name, text string) error {
	if flag := flags.Lookup(name); flag == nil || flag.Changed {
		return nil
	}
	return flags.Set(name, text)
}

// read returns the values of the profile that was asked for, or of the default one.
func (s *settings) read() (path string, values map[string]string, err error) {
	path = s.config
	if path == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", nil, nil // nobody's home, no profiles
		}
		path = filepath.Join(dir, "spoke", "profiles.json")
	}
	text, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) && s.config == "" && s.profile == "" {
		return path, nil, nil
	}
	if err != nil {
		return path, nil, err
	}
	if values, err = pick(text, s.profile); err != nil {
		return path, nil, fmt.Errorf("%s: %w", path, err)
	}
	return path, values, nil
}

// pick returns the values of a profile, or of the default one, in the text of a file.
func pick(text []byte, name string) (map[string]string, error) {
	file, err := members(text, "a file of profiles", "default", "profiles")
	if err != nil {
		return nil, err
	}
	usual, err := stringOf(file["default"], `"default"`)
	if err != nil {
		return nil, err
	}
	if name = cmp.Or(name, usual); name == "" {
		return nil, nil
	}
	all, err := members(orEmpty(file["profiles"]), `"profiles"`)
	if err != nil {
		return nil, err
	}
	if all[name] == nil {
		return nil, fmt.Errorf("no profile %q", name)
	}
	return valuesOf(all[name], name)
}

// orEmpty is an object that may have been left out.
func orEmpty(text json.RawMessage) json.RawMessage {
	if text == nil {
		return json.RawMessage("{}")
	}
	return text
}

// valuesOf reads the values of one profile.
func valuesOf(text json.RawMessage, name string) (map[string]string, error) {
	profile, err := members(text, fmt.Sprintf("profile %q", name), settable...)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(profile))
	for member, value := range profile {
		if values[member], err = stringOf(value, fmt.Sprintf("%q of profile %q", member, name)); err != nil {
			return nil, err
		}
	}
	return values, nil
}
