package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
)

// pages is a web server whose /to redirects to what its query says.
func pages(t *testing.T) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	served := new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		switch r.URL.Path {
		case "/to":
			http.Redirect(w, r, r.URL.Query().Get("url"), http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/large":
			io.WriteString(w, strings.Repeat("x", maxBodyBytes+1))
		case "/binary":
			w.Header().Set("Content-Type", "image/png")
			w.Write([]byte("a\xff\x00b"))
		default:
			io.WriteString(w, "page "+r.URL.Path)
		}
	}))
	t.Cleanup(server.Close)
	return server, served
}

func anywhere(netip.AddrPort) bool { return true }

func TestAFetchGetsPagesOfAllowedHosts(t *testing.T) {
	server, _ := pages(t)
	host := strings.TrimPrefix(server.URL, "http://")
	r := registryOf(t, newFetch(anywhere, host).tool())
	get := func(url string) (fetchResult, error) {
		return call[fetchResult](t.Context(), r, fetchID, map[string]any{"url": url})
	}
	for url, want := range map[string]fetchResult{
		server.URL + "/a":            {Status: 200, ContentType: "text/plain; charset=utf-8", Body: "page /a"},
		server.URL + "/to?url=/b":    {Status: 200, ContentType: "text/plain; charset=utf-8", Body: "page /b"},
		"HTTP://" + host + "/c#part": {Status: 200, ContentType: "text/plain; charset=utf-8", Body: "page /c"},
		server.URL + "/binary":       {Status: 200, ContentType: "image/png", Body: "a\x00b"},
	} {
		got, err := get(url)
		require.NoError(t, err, url)
		assert.Equal(t, want, got)
	}
	large, err := get(server.URL + "/large")
	require.NoError(t, err)
	assert.True(t, large.Truncated)
	assert.Len(t, large.Body, maxBodyBytes)
	_, err = get(server.URL + "/loop")
	assert.Equal(t, "too_many_redirects", failureOf(err))
}

func TestAFetchLeavesNoAllowedHost(t *testing.T) {
	server, served := pages(t)
	host := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := strings.Cut(host, ":")
	other, otherServed := pages(t)
	r := registryOf(t, newFetch(anywhere, host).tool())
	for _, url := range []string{
		other.URL, "http://localhost:" + port, "http://127.1:" + port, "http://2130706433:" + port, "http://0x7f.1:" + port,
		"http://[::1]:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://" + host + ".", "http://" + host + "@example.org/",
		"http://user@" + host, "http://user:pass@" + host, "ftp://" + host, "file:///etc/passwd", "gopher://" + host, "//" + host, host, "",
		"http://127.0.0.1", "http://127.0.0.1:" + port + "%2f@example.org", "http:\\\\" + host, "javascript:1", "http://example.org#@" + host,
	} {
		_, err := call[fetchResult](t.Context(), r, fetchID, map[string]any{"url": url})
		assert.Equal(t, "host_not_allowed", failureOf(err), url)
		assert.Equal(t, spoke.CodeInternalError, spoke.CodeOf(err), url)
	}
	assert.Zero(t, served.Load()+otherServed.Load(), "nothing was asked for")
	for _, url := range []string{other.URL + "/x", "http://user@" + host + "/x", "file:///etc/passwd", "//" + strings.TrimPrefix(other.URL, "http://")} {
		before := served.Load()
		_, err := call[fetchResult](t.Context(), r, fetchID, map[string]any{"url": server.URL + "/to?url=" + url})
		assert.Equal(t, "host_not_allowed", failureOf(err), url)
		assert.Equal(t, before+1, served.Load(), "only the redirect itself was served")
	}
	assert.Zero(t, otherServed.Load())
}

// A name on the list that resolves to an address of the inner network is refused where
// the connection is made, so that no answer of a name server helps.
func TestAFetchDialsPublicAddressesOnly(t *testing.T) {
	server, served := pages(t)
	host := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := strings.Cut(host, ":")
	r := registryOf(t, newFetch(nil, host, "localhost:"+port).tool())
	for _, url := range []string{server.URL, "http://localhost:" + port} {
		_, err := call[fetchResult](t.Context(), r, fetchID, map[string]any{"url": url})
		assert.Equal(t, "address_not_allowed", failureOf(err), url)
	}
	assert.Zero(t, served.Load())
}

func TestOnlyAddressesOfThePublicInternetArePublic(t *testing.T) {
	for _, a := range []string{"8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8"} {
		assert.True(t, public(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{
		"127.0.0.1", "127.255.0.1", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254", "0.0.0.0", "0.1.2.3", "100.64.0.1",
		"192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
		"::127.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:1::", "fec0::1",
	} {
		assert.False(t, public(netip.MustParseAddr(a)), a)
	}
}

func TestAHostThatDoesNotAnswerIsAFailureThatCanBeRetried(t *testing.T) {
	server, _ := pages(t)
	host := strings.TrimPrefix(server.URL, "http://")
	server.Close()
	r := registryOf(t, newFetch(anywhere, host).tool())
	_, err := call[fetchResult](t.Context(), r, fetchID, map[string]any{"url": "http://" + host})
	assert.Equal(t, "fetch_failed", failureOf(err))
}
