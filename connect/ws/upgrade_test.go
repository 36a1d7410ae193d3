package ws_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/connect/ws"
)

func TestUpgradeOrigin(t *testing.T) {
	// dial connects as a page of origin does, or as a program when it is empty.
	dial := func(t *testing.T, options *ws.UpgradeOptions, origin func(url string) string) error {
		url, transports := newTransportServer(t, options)
		header := http.Header{}
		if o := origin(url); o != "" {
			header.Set("Origin", o)
		}
		client, err := ws.Dial(t.Context(), url, &ws.DialOptions{Header: header})
		if err == nil {
			client.Close()
			soon(t, transports).Close()
		}
		return err
	}
	fixed := func(origin string) func(string) string { return func(string) string { return origin } }
	own := func(url string) string { return "http" + strings.TrimPrefix(url, "ws") }
	admit := func(origin string) *ws.UpgradeOptions {
		return &ws.UpgradeOptions{CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") == origin }}
	}

	t.Run("a page of another host is refused by default", func(t *testing.T) {
		for _, options := range []*ws.UpgradeOptions{nil, {}} {
			require.ErrorContains(t, dial(t, options, fixed("https://evil.example")), "403 Forbidden")
		}
	})
	t.Run("a page without a host is refused by default", func(t *testing.T) {
		require.ErrorContains(t, dial(t, nil, fixed("null")), "403 Forbidden")
	})
	t.Run("a page of the same host on another port is refused by default", func(t *testing.T) {
		require.ErrorContains(t, dial(t, nil, fixed("http://127.0.0.1:1")), "403 Forbidden")
	})
	t.Run("a page of the same host is admitted by default", func(t *testing.T) {
		require.NoError(t, dial(t, nil, own))
	})
	t.Run("a program is admitted by default", func(t *testing.T) {
		require.NoError(t, dial(t, nil, fixed("")))
	})
	t.Run("CheckOrigin decides when it is set", func(t *testing.T) {
		require.NoError(t, dial(t, admit("https://friend.example"), fixed("https://friend.example")))
		require.ErrorContains(t, dial(t, admit("https://friend.example"), fixed("https://evil.example")), "403 Forbidden")
		require.ErrorContains(t, dial(t, admit("https://friend.example"), own), "403 Forbidden")
		require.ErrorContains(t, dial(t, admit("https://friend.example"), fixed("")), "403 Forbidden")
	})
}

func TestUpgradeAnswersWhatItRefuses(t *testing.T) {
	upgraded := make(chan error, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := ws.Upgrade(w, r, nil)
		upgraded <- err
	}))
	defer s.Close()
	headers := func(change func(http.Header)) http.Header {
		h := http.Header{
			"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
		}
		change(h)
		return h
	}
	for name, request := range map[string]struct {
		method string
		header http.Header
		status int
	}{
		"a plain request":  {http.MethodGet, nil, http.StatusBadRequest},
		"a post":           {http.MethodPost, headers(func(http.Header) {}), http.StatusMethodNotAllowed},
		"another version":  {http.MethodGet, headers(func(h http.Header) { h.Set("Sec-Websocket-Version", "8") }), http.StatusBadRequest},
		"a missing key":    {http.MethodGet, headers(func(h http.Header) { h.Del("Sec-Websocket-Key") }), http.StatusBadRequest},
		"another protocol": {http.MethodGet, headers(func(h http.Header) { h.Set("Upgrade", "h2c") }), http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), request.method, s.URL, nil)
			require.NoError(t, err)
			if request.header != nil {
				r.Header = request.header
			}
			response, err := s.Client().Do(r)
			require.NoError(t, err)
			response.Body.Close()
			assert.Equal(t, request.status, response.StatusCode)
			assert.ErrorContains(t, soon(t, upgraded), "ws: upgrade: ")
		})
	}
}

// wrapped is a response writer that middleware has put around another.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestUpgradeThroughMiddleware(t *testing.T) {
	t.Run("that can be unwrapped", func(t *testing.T) {
		transports := make(chan *ws.Transport, 1)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			transport, err := ws.Upgrade(wrapped{w}, r, nil)
			if assert.NoError(t, err) {
				transports <- transport
			}
		}))
		defer s.Close()
		client, err := ws.Dial(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), nil)
		require.NoError(t, err)
		defer client.Close()
		host := soon(t, transports)
		defer host.Close()
		require.NoError(t, client.Send(t.Context(), []byte("{}")))
		got, err := host.Recv(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "{}", string(got))
	})
	t.Run("that cannot", func(t *testing.T) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		for name, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket",
			"Sec-Websocket-Version": "13", "Sec-Websocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
		} {
			r.Header.Set(name, value)
		}
		_, err := ws.Upgrade(struct{ http.ResponseWriter }{w}, r, nil)
		assert.ErrorContains(t, err, "ws: upgrade: ")
		assert.Equal(t, http.StatusInternalServerError, w.Code)
	})
}
