package draft7

import (
	"net/url"
	"strconv"
	"strings"
)

// resolve finds the subschema that n's $ref points to, reading it if it stands where
// no keyword led.
func (p *parser) resolve(n *node) error {
	at := n.at.in("$ref")
	tokens, err := pointerTokens(n.refText, at)
	if err != nil {
		return err
	}
	v, where, err := p.follow(tokens, at)
	if err != nil {
		return err
	}
	n.ref, err = p.targetAt(v, where, at)
	return err
}

// pointerTokens splits a $ref of the form #/a/b into its unescaped tokens.
func pointerTokens(ref string, at *place) ([]string, error) {
	pointer, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil {
		return nil, at.errorf("%q is not a URI fragment", Clip(ref))
	}
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, at.errorf("%q is not a JSON pointer", Clip(ref))
	}
	tokens := strings.Split(pointer[1:], "/")
	for i, token := range tokens {
		if tokens[i], err = unescape(token, ref, at); err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

var unescapeToken = strings.NewReplacer("~0", "~", "~1", "/")

func unescape(token, ref string, at *place) (string, error) {
	if strings.Count(token, "~") != strings.Count(token, "~0")+strings.Count(token, "~1") {
		return "", at.errorf("%q is not a JSON pointer", Clip(ref))
	}
	return unescapeToken.Replace(token), nil
}

// follow walks the document along tokens and returns what it arrives at.
func (p *parser) follow(tokens []string, at *place) (any, *place, error) {
	v := p.doc
	var where *place
	for _, token := range tokens {
		next, ok := member(v, token)
		if !ok {
			return nil, nil, at.errorf("points to nothing")
		}
		v, where = next, where.in(token)
	}
	return v, where, nil
}

// member returns the member or item of v that one reference token names.
func member(v any, token string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		next, ok := v[token]
		return next, ok
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != token {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// targetAt returns the node of v, which a $ref at the given place points to.
func (p *parser) targetAt(v any, where, at *place) (*node, error) {
	m, isObject := v.(map[string]any)
	if _, isBool := v.(bool); !isBool && !isObject {
		return nil, at.errorf("points to %s, which is no schema", kindName(v))
	}
	if n, ok := p.seen[identity(m)]; ok && isObject {
		n.target = true
		return n, nil
	}
	n, err := p.schema(v, where)
	if n != nil {
		n.target = true
	}
	return n, err
}
