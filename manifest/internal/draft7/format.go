package draft7

import (
	"net/mail"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spoke-peer/spoke-go/internal/rfc3339"
	"github.com/xeipuuv/gojsonschema"
)

// formats are the formats that assert something; checking one does no I/O. Others do
// not, even where the application registered a checker with gojsonschema: what a peer's
// schema runs is not for the process to extend.
var formats = strings.Fields(`date time date-time hostname email idn-email ipv4 ipv6
	uri uri-reference iri iri-reference uri-template uuid regex json-pointer
	relative-json-pointer`)

// ownFormats are those of them that gojsonschema judges wrongly: it refuses small letters
// and leap seconds in times and capitals in UUIDs, and takes a date for a date-time, a
// name before an email address and an IPv6 address for one of IPv4.
var ownFormats = map[string]formatCheck{
	"time":      func(text string) bool { return rfc3339.CheckClock(text) == nil },
	"date-time": isDateTime,
	"email":     isEmail,
	"idn-email": isEmail,
	"ipv4":      isIPv4,
	"uuid":      regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`).MatchString,
}

// ownFormat goes before the name of a format that is checked here. gojsonschema has one
// table of checkers for the whole process; names of its own leave others what they have.
const ownFormat = "spoke-go/"

// registerFormats adds the checkers to gojsonschema's table.
var registerFormats = sync.OnceFunc(func() {
	for name, check := range ownFormats {
		gojsonschema.FormatCheckers.Add(ownFormat+name, check)
	}
})

// formatCheck is a checker of texts.
type formatCheck func(text string) bool

// IsFormat implements [gojsonschema.FormatChecker]. Format holds for strings only.
func (f formatCheck) IsFormat(v any) bool {
	text, ok := v.(string)
	return !ok || f(text)
}

// format returns the name under which gojsonschema finds the checker.
func format(v any, at *place) (any, error) {
	name, ok := v.(string)
	if !ok {
		return nil, at.errorf("must be a string, not %s", kindName(v))
	}
	if !slices.Contains(formats, name) {
		return nil, nil
	}
	if _, ok := ownFormats[name]; ok {
		name = ownFormat + name
	}
	return name, nil
}

func isDateTime(text string) bool {
	_, err := rfc3339.Parse(text)
	return err == nil
}

func isIPv4(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && addr.Is4()
}

// isEmail reports whether text is an address alone: mail.ParseAddress reads a header,
// which may have a name, angle brackets, comments and spaces around it.
func isEmail(text string) bool {
	addr, err := mail.ParseAddress(text)
	if err != nil || addr.Name != "" {
		return false
	}
	i := strings.LastIndexByte(text, '@')
	if i > 1 && text[0] == '"' && text[i-1] == '"' {
		return strings.HasSuffix(addr.Address, text[i:])
	}
	return text == addr.Address
}
