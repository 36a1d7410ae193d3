package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"

	"github.com/spoke-peer/spoke-go/tools"
)

const fetchID = "tools.web.fetch"

type fetchArgs struct {
	URL string `json:"url" jsonschema:"http or https address on an allowed host" maxLength:"2000"`
}

type fetchResult struct {
	Status      int    `json:"status"`
	ContentType string `json:"content_type"`
	Body        string `json:"body"`
	Truncated   bool   `json:"truncated"`
}

// Bounds of one fetch.
const (
	maxBodyBytes = 64 << 10
	maxRedirects = 3
)

// fetch gets pages from allowed hosts. The host of every address is looked up in the
// list, those of redirects too; and whatever a name resolves to, only addresses that
// reachable admits are dialed.
type fetch struct {
	hosts     map[string]bool // as they stand in an address, in lower case, with any port
	reachable func(netip.AddrPort) bool
	client    *http.Client
}

// newFetch returns a fetch from the hosts. A nil reachable means public addresses.
func newFetch(reachable func(netip.AddrPort) bool, hosts ...string) *fetch {
	f := &fetch{hosts: make(map[string]bool), reachable: reachable}
	if reachable == nil {
		f.reachable = func(a netip.AddrPort) bool { return public(a.Addr()) }
	}
	for _, host := range hosts {
		f.hosts[strings.ToLower(host)] = true
	}
	dialer := &net.Dialer{Control: f.control}
	f.client = &http.Client{
		// No proxy: it would dial in our place. No connection is kept, so that each
		// fetch resolves and checks anew.
		Transport:     &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true},
		CheckRedirect: f.redirect,
	}
	return f
}

func (f *fetch) tool() *tools.Tool {
	// An address can carry data out, so this is more than reading.
	return tools.New(fetchID, "Fetch a page from an allowed host.", f.run).With(tools.Metadata{
		Policy:      tools.PolicyWrite,
		Keywords:    []string{"http", "get"},
		Timeout:     fetchTimeout,
		Concurrency: 4,
	})
}

var (
	errHost    = &tools.Failure{Code: "host_not_allowed", Message: "the address is not on an allowed host"}
	errAddress = &tools.Failure{Code: "address_not_allowed", Message: "the host's address is not public"}
	errLoop    = &tools.Failure{Code: "too_many_redirects", Message: "the page redirects too often"}
)

func (f *fetch) run(ctx context.Context, in fetchArgs) (fetchResult, error) {
	u, err := url.Parse(in.URL)
	if err != nil {
		return fetchResult{}, errHost
	}
	if err := f.check(u); err != nil {
		return fetchResult{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fetchResult{}, errHost
	}
	response, err := f.client.Do(request)
	if err != nil {
		return fetchResult{}, failureOr(err, &tools.Failure{Code: "fetch_failed", Message: "the page could not be fetched", Retryable: true})
	}
	defer response.Body.Close()
	return read(response)
}

// failureOr returns the failure in err's chain, or other.
func failureOr(err error, other *tools.Failure) error {
	if known, ok := errors.AsType[*tools.Failure](err); ok {
		return known
	}
	return other
}

func read(response *http.Response) (fetchResult, error) {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBodyBytes+1))
	if err != nil {
		return fetchResult{}, fmt.Errorf("read the page: %w", err)
	}
	return fetchResult{
		Status:      response.StatusCode,
		ContentType: clip(response.Header.Get("Content-Type"), maxHitBytes),
		Body:        clip(string(body), maxBodyBytes),
		Truncated:   len(body) > maxBodyBytes,
	}, nil
}

// check refuses an address that is not on the list.
func (f *fetch) check(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || !f.hosts[strings.ToLower(u.Host)] {
		return errHost
	}
	return nil
}

func (f *fetch) redirect(request *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return errLoop
	}
	return f.check(request.URL)
}

// control sees the address that is about to be dialed, after every name was resolved.
func (f *fetch) control(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !f.reachable(a) {
		return errAddress
	}
	return nil
}

// reserved are the networks that are global unicast by form and not the public
// internet, and those that embed an IPv4 address.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("::/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("100::/64"),
	netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("fec0::/10"),
}

// public reports whether an address is one of the public internet.
func public(a netip.Addr) bool {
	a = a.Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.Zone() != "" {
		return false
	}
	for _, network := range reserved {
		if network.Contains(a) {
			return false
		}
	}
	return true
}
