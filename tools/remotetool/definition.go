package remotetool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spoke-peer/spoke-go/tools"
)

// Schema names the protocol's version.
const Schema = "ansight.tool-catalog.v3"

// definition is what the catalog says of one tool, serialized once. It does not change.
type definition struct {
	id        string // as the protocol has it
	entry     tools.Entry
	category  string
	policy    tools.Policy
	probe     tools.Probe
	flattened bool
	arguments *schema
	result    *schema

	revision string
	full     []byte // the definitions entry, without its closing brace
	index    []byte // the index entry, likewise
	search   string
}

// define serializes a tool and hashes it.
//
// Source: remote tool spec, sections 2 and 3.
func define(id string, e tools.Entry) *definition {
	meta, d := e.Metadata(), e.Descriptor()
	x := &definition{
		id: id, entry: e,
		category: meta.Category, policy: meta.Policy, probe: within(meta.Timeout, meta.Probe), flattened: meta.FlattenedStrings,
		arguments: argumentsOf(d.Input), result: schemaOf(d.Output),
	}
	name := meta.Name
	if name == e.ID() {
		name = id
	}
	keywords := strings.TrimSpace(strings.Join(meta.Keywords, " "))
	prerequisites := prerequisitesOf(meta.Prerequisites)
	head := []byte{'{'}
	for _, m := range []struct{ name, text string }{
		{"id", id}, {"name", name}, {"description", d.Description}, {"category", meta.Category}, {"policy", string(meta.Policy)},
	} {
		head = appendText(head, m.name, m.text)
	}
	x.full = x.arguments.append(appendName(slices.Clone(head), "argumentsSchema"))
	x.full = x.result.append(appendName(x.full, "resultSchema"))
	x.full = appendHints(x.full, keywords, prerequisites)
	if x.flattened {
		x.full = appendText(x.full, "argumentEncoding", "flattened-string")
	}
	x.revision = revisionOf(append(slices.Clone(x.full), '}'))
	x.full = slices.Clip(appendText(x.full, "definitionRevision", x.revision))
	x.index = slices.Clip(appendHints(appendText(head, "definitionRevision", x.revision), keywords, prerequisites))
	x.search = searchText(id, name, d.Description, meta.Category, keywords, strings.Join(prerequisites, " "))
	return x
}

// within returns the probe with its context bounded, or the probe itself when there is
// no bound.
func within(timeout time.Duration, probe tools.Probe) tools.Probe {
	if probe == nil || timeout == 0 {
		return probe
	}
	return func(ctx context.Context) tools.Availability {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return probe(ctx)
	}
}

// prerequisitesOf returns the ids trimmed, sorted and once each.
func prerequisitesOf(ids []string) []string {
	var list []string
	for _, id := range ids {
		if id = strings.TrimSpace(id); id != "" {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// appendHints appends what is left out when there is none of it.
func appendHints(dst []byte, keywords string, prerequisites []string) []byte {
	dst = appendOptional(dst, "keywords", keywords)
	if len(prerequisites) > 0 {
		dst = appendList(dst, "prerequisiteToolIds", prerequisites)
	}
	return dst
}

// revisionOf hashes compact JSON.
//
// Source: remote tool spec, section 3.
func revisionOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// searchText joins texts the way terms are looked for in: lower case, letters and
// digits, anything else a space.
//
// Source: remote tool spec, section 2.
func searchText(parts ...string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return ' '
		}
		return unicode.ToLower(r)
	}, strings.Join(parts, " "))
}

// appendState appends an availability. What an available tool says beside that is left
// out.
func appendState(dst []byte, a tools.Availability) []byte {
	dst = appendBool(append(dst, '{'), "available", a.Available)
	if !a.Available {
		dst = appendOptional(dst, "code", a.Code)
		dst = appendOptional(dst, "reason", a.Reason)
		dst = appendOptional(dst, "requiredState", a.RequiredState)
		dst = appendOptional(dst, "remediation", a.Remediation)
		if a.Retryable {
			dst = appendBool(dst, "retryable", true)
		}
	}
	return append(dst, '}')
}

// appendRuntime ends an entry with the state of a tool that is unavailable.
func appendRuntime(dst []byte, a tools.Availability, down bool) []byte {
	if down {
		dst = appendState(appendName(dst, "runtime"), a)
		dst = appendBool(dst, "executable", false)
	}
	return append(dst, '}')
}
