package remotetool

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// maxDelay bounds the wait before evidence is taken.
//
// Source: remote tool spec, section 5.
const maxDelay = 2 * time.Second

// after is what a call asks to be taken as evidence once it succeeded.
type after struct {
	delay      time.Duration
	include    []string
	visualTree json.RawMessage
	screenshot json.RawMessage
}

// readAfter judges the types of a call's after; nil when there is none.
//
// Source: remote tool spec, section 5.
func readAfter(raw json.RawMessage) (*after, *Error) {
	if present(raw) == nil {
		return nil, nil
	}
	m, err := membersOf(raw)
	if err != nil {
		return nil, errorf(CodeCallPayloadInvalid, "after must be an object")
	}
	a := &after{include: []string{"visualTree"}}
	if delay := present(m["delayMilliseconds"]); delay != nil {
		n, ok := wholeOf(delay)
		if !ok {
			return nil, errorf(CodeCallPayloadInvalid, "after.delayMilliseconds must be a whole number")
		}
		a.delay = time.Duration(min(max(n, 0), maxDelay.Milliseconds())) * time.Millisecond
	}
	if include := present(m["include"]); include != nil {
		var list []json.RawMessage
		if json.Unmarshal(include, &list) != nil || len(stringsOf(include)) != len(list) {
			return nil, errorf(CodeCallPayloadInvalid, "after.include must be a list of texts")
		}
		a.include = stringsOf(include)
	}
	for _, member := range []struct {
		name string
		to   *json.RawMessage
	}{{"visualTreeArguments", &a.visualTree}, {"screenshotArguments", &a.screenshot}} {
		value := present(m[member.name])
		if value != nil && value[0] != '{' {
			return nil, errorf(CodeCallPayloadInvalid, "after.%s must be an object", member.name)
		}
		*member.to = value
	}
	return a, nil
}

// evidence takes what was asked for and returns it by the names that asked, nil for
// nothing. Each is the payload that a call of its own would have been answered with; a
// failure is recorded like that and fails nothing.
//
// Source: remote tool spec, section 5.
func (p *Provider) evidence(ctx context.Context, invoked *definition, a *after) json.RawMessage {
	if a == nil {
		return nil
	}
	taken := []byte{'{'}
	seen := make(map[string]bool)
	waited := a.delay == 0
	for _, name := range a.include {
		c, known := p.evidenceCall(name, a)
		if !known || seen[name] || strings.EqualFold(c.id, invoked.id) {
			continue
		}
		seen[name] = true
		if !waited {
			pause(ctx, a.delay)
			waited = true
		}
		taken = appendRaw(taken, name, p.evidenceOf(ctx, c))
	}
	if len(taken) == 1 {
		return nil
	}
	return append(taken, '}')
}

func (p *Provider) evidenceCall(name string, a *after) (call, bool) {
	switch name {
	case "visualTree", "tree", "visual_tree":
		return call{id: p.cfg.VisualTreeID, arguments: a.visualTree}, true
	case "screenshot":
		return call{id: p.cfg.ScreenshotID, arguments: a.screenshot}, true
	}
	return call{}, false
}

func (p *Provider) evidenceOf(ctx context.Context, c call) []byte {
	result, fault := p.run(ctx, c)
	if fault != nil {
		return fault.payload()
	}
	return append(append([]byte{'{'}, result...), '}')
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
