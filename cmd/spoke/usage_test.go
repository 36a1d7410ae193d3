package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestACommandLineThatMakesNoSense(t *testing.T) {
	t.Parallel()
	key, id := keyFile(t)
	other, _ := keyFile(t)
	peer := []string{"--url", "ws://127.0.0.1:1", "--key", other, "--peer", string(id.PeerID())}
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte("[]"), 0o600))
	fresh := filepath.Join(t.TempDir(), "fresh.jsonl")
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "calls.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	big := file("")
	require.NoError(t, os.Truncate(big, maxInput<<20+1))
	line := func(words ...string) []string { return words }
	dialing := func(words ...string) []string { return append(words, peer...) }
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no calls to measure":                  {line("bench", "-n", "0"), "at least 1"},
		"a size below zero":                    {line("bench", "--size", "-1"), "at least 0"},
		"a pair with a URL":                    {line("bench", "--pair", "ws://127.0.0.1:1"), "measure no URL"},
		"a pair over a transport of its own":   {line("bench", "--transport", "tcp"), "ws or pipe"},
		"a pair's transport with a URL":        {line("bench", "--transport", "pipe", "ws://127.0.0.1:1"), "measure no URL"},
		"a pair with the flag of a URL":        {line("bench", "--pair", "--url", "ws://127.0.0.1:1"), "none of the others can be"},
		"a tool of the pair's":                 {line("bench", "--tool", "tools.a.b"), "the URL of the peer"},
		"a tool of a pair in memory":           {line("bench", "--transport", "pipe", "--tool", "tools.a.b"), "none of the others can be"},
		"a measured tool's arguments":          {dialing("bench", "--args", "{"), "--args"},
		"something else to measure":            {line("bench", "x"), "is not a URL"},
		"a URL of another kind":                {append(dialing("ping"), "http://127.0.0.1:1"), "is no URL of a peer"},
		"a URL with a password":                {append(dialing("ping"), "ws://me:secret@127.0.0.1:1"), "ws://me:xxxxx@127.0.0.1:1"},
		"a URL of a user":                      {append(dialing("connect"), "--url", "wss://me@127.0.0.1:1"), "has a user"},
		"a password in what is no URL":         {append(dialing("ping"), "--url", "ws://me:secret/@[::"), "cannot parse"},
		"a password in a URL of another kind":  {append(dialing("ping"), "--url", "http://me:secret@127.0.0.1:1"), "http://me:xxxxx@127.0.0.1:1"},
		"a port that is too high":              {append(dialing("ping"), "ws://127.0.0.1:99999"), "no port from 1 to 65535"},
		"a port that nobody has":               {append(dialing("watch", "--wait"), "ws://127.0.0.1:0"), "no port from 1 to 65535"},
		"a judged peer's port":                 {line("conformance", "--dial", "ws://127.0.0.1:99999"), "no port from 1 to 65535"},
		"a URL of another kind as a flag":      {append(dialing("ping"), "--url", "http://127.0.0.1:1"), "no URL of a peer"},
		"a peer id that is none":               {append(dialing("ping"), "--peer", "12D3KooWnobody"), "--peer"},
		"a key file that is not there":         {append(dialing("ping"), "--key", "missing.key"), "missing.key"},
		"tools of nobody":                      {dialing("tools", "x"), "is not a URL"},
		"a session with nobody":                {dialing("connect", "x"), "is not a URL"},
		"an id of nobody":                      {line("id", "nobody"), "neither a file"},
		"an id that is too short":              {line("id", "abcdef"), "want 32"},
		"an id of a file that holds none":      {line("id", file("ssh-rsa AAAA")), "no peer id and no Ed25519 public key"},
		"an id of a file that holds nothing":   {line("id", file("")), "holds 0 peers, not one"},
		"a called URL of another kind":         {append(dialing("call"), "http://me:secret@127.0.0.1:1", "tools.a.b"), "is no URL of a peer"},
		"a URL of another kind before an op":   {append(dialing("port"), "http://127.0.0.1:1", "knowledge.get"), "is no URL of a peer"},
		"help that is neither true nor false":  {append(dialing("call"), "tools.a.b", "--help=perhaps"), "--help is true or false"},
		"an id of a directory":                 {line("id", t.TempDir()), "is a directory"},
		"arguments that are not there":         {dialing("port", "knowledge.get", "@missing.json"), "missing.json"},
		"a manifest that is not there":         {line("manifest", "check", "missing.json"), "missing.json"},
		"a manifest over a file":               {line("manifest", "init", empty), "exists"},
		"a key in a file without a name":       {line("keygen", "-o", ""), "no file is named"},
		"a key over a file":                    {line("keygen", "-o", key), "exists"},
		"a world that cannot be opened":        {line("serve", "--key", key, "--ports", "sqlite:/nonexistent/x.db"), "--ports"},
		"an address to listen on that is none": {line("serve", "--key", key, "--listen", "nowhere"), "--listen"},
		"vectors that are not there":           {line("conformance", "--vectors", "missing"), "missing"},
		"vectors that are a file":              {line("conformance", "--vectors", empty), "--vectors"},
		"a group that is not there":            {line("conformance", "--group", "made_up"), "no vectors for group made_up"},
		"a judged peer without a host":         {line("conformance", "--dial", "ws://"), "no URL of a peer"},
		"a judged peer of another kind":        {line("conformance", "--dial", "http://127.0.0.1:1"), "no URL of a peer"},
		"a URL without a host":                 {append(dialing("ping"), "ws://"), "no URL of a peer"},
		"a URL that cannot be read":            {append(dialing("ping"), "ws://[::"), "parse"},
		"a judge who listens nowhere":          {line("conformance", "--listen", "nowhere"), "--listen"},
		"a transcript that is not there":       {line("transcript", "replay", "missing.jsonl"), "missing.jsonl"},
		"a recorder that listens nowhere":      {line("transcript", "record", "--listen", "nowhere", "--dial", "ws://127.0.0.1:1", "--out", fresh), "--listen"},
		"a recorder of nobody":                 {line("transcript", "record", "--dial", "nobody", "--out", fresh), "--dial"},
		"a recorder over a file":               {line("transcript", "record", "--dial", "ws://127.0.0.1:1", "--out", empty), "exists"},
		"an id that is left out":               {line("id"), "accepts 1 arg"},
		"a flag that keygen does not have":     {line("keygen", "--made-up"), "unknown flag"},
		"a misspelled manifest command":        {line("manifest", "bogus"), `unknown command "bogus" for "spoke manifest"`},
		"a misspelled transcript command":      {line("transcript", "bogus"), "unknown command"},
		"a misspelled command":                 {line("bogus"), "unknown command"},
		"a shell without completion":           {line("completion", "bogus"), "unknown command"},
		"help about nothing that there is":     {line("help", "bogus"), "unknown command"},
		"help about no manifest command":       {line("help", "manifest", "bogus"), "unknown command"},
		"a session with a misspelled command":  {line("connect", "ws://127.0.0.1:1", "bogus"), "bogus"},
		"a manifest that is left out":          {line("manifest", "check"), "accepts 1 arg"},
		"an op that is left out":               {dialing("port"), "accepts between 1 and 3"},
		"a payload that is no JSON":            {dialing("port", "knowledge.get", "{"), "not JSON"},
		"a batch without calls":                {dialing("batch", empty), "1 to 32 calls"},
		"a batch that is not there":            {dialing("batch", "missing.json"), "missing.json"},
		"a flag before the tool":               {dialing("call", "--made-up", "tools.a.b"), "unknown flag --made-up"},
		"a tool id that is none":               {dialing("call", "nonsense"), "nonsense"},
		"a tool that is left out":              {dialing("call"), "give the id of a tool"},
		"a host without a key":                 {line("serve"), "spoke keygen"},
		"ports that nobody has":                {line("serve", "--key", key, "--ports", "moon"), "toy or sqlite:FILE"},
		"an allowed peer that is none":         {line("serve", "--key", key, "--allow", "nobody"), "--allow"},
		"a list of allowed peers not there":    {line("serve", "--key", key, "--allow-file", "missing"), "--allow-file"},
		"a host with an argument":              {line("serve", "x"), "unknown command"},
		"a policy that is none":                {line("serve", "--key", key, "--second", "perhaps"), "allow, refuse or replace"},
		"fewer sessions than none":             {line("serve", "--key", key, "--max-sessions", "-1"), "--max-sessions"},
		"a grace that is no duration":          {line("serve", "--key", key, "--grace", "soon"), "grace"},
		"a watched peer that is none":          {append(dialing("watch", "--wait"), "--peer", "nobody"), "--peer"},
		"a command without a tool":             {dialing("watch", "--exec", "nonsense"), "is not tools.NAMESPACE.TOOL=COMMAND"},
		"a tool without a command":             {dialing("watch", "--exec", "tools.a.b="), "no command"},
		"a command with half a quote":          {dialing("watch", "--exec", `tools.a.b="x`), "tools.a.b"},
		"a command's time below none":          {dialing("watch", "--exec", "tools.a.b=sh", "--exec-timeout", "-1s"), "--exec-timeout is at least 0"},
		"two commands of one tool":             {dialing("watch", "--exec", "tools.a.b=sh", "--exec", "tools.a.b=cat"), "tools.a.b has two commands"},
		"fewer calls than none":                {dialing("watch", "--calls", "-1"), "--calls"},
		"a command without a program":          {dialing("watch", "--exec", "tools.a.b=no-such-program"), "not found"},
		"a command's time that is none":        {dialing("watch", "--exec", "tools.a.b=x", "--exec-timeout", "soon"), "exec-timeout"},
		"a watch that waits and ends at once":  {dialing("watch", "--once", "--wait"), "none of the others can be"},
		"an op that is not UTF-8":              {dialing("port", "caf\xe9"), "not UTF-8"},
		"a name that is not UTF-8":             {line("manifest", "init", "--host-id", "caf\xe9"), "not UTF-8"},
		"a measured tool that is none":         {dialing("bench", "--tool", "caf\xe9"), "--tool"},
		"a batch with an id that is none":      {dialing("batch", file(`[{"id":"tools.a.b"},{"id":"nonsense"}]`)), "call 2"},
		"a batch that is no array":             {dialing("batch", file(`{"id":"tools.a.b"}`)), "a batch is an array of"},
		"a batch of something else":            {dialing("batch", file(`["tools.a.b"]`)), "call 1 is not an object"},
		"a batch with an odd member":           {dialing("batch", file(`[{"id":"tools.a.b","arg":{}}]`)), `call 1 has no "arg", only id, args`},
		"a batch with a number for an id":      {dialing("batch", file(`[{"id":7}]`)), `"id" of call 1 is not a string`},
		"a batch with a list of arguments":     {dialing("batch", "--continue", file(`[{"id":"tools.a.b"},{"id":"tools.a.b","args":[1]}]`)), `"args" of call 2 is not an object`},
		"a batch with null for arguments":      {dialing("batch", file(`[{"id":"tools.a.b","args":null}]`)), `"args" of call 1 is not an object`},
		"profiles that are no JSON":            {dialing("ping", "--config", file(`{`)), "not JSON"},
		"profiles that are a list":             {dialing("ping", "--config", file(`[]`)), "a file of profiles is not an object"},
		"profiles that are none":               {dialing("ping", "--config", file(`{"default":"x","profiles":[]}`)), `"profiles" is not an object`},
		"a default profile that is no name":    {dialing("ping", "--config", file(`{"default":7}`)), `"default" is not a string`},
		"a profile that is a string":           {dialing("ping", "--config", file(`{"default":"x","profiles":{"x":"y"}}`)), `profile "x" is not an object`},
		"a profile with a number":              {dialing("ping", "--config", file(`{"default":"x","profiles":{"x":{"timeout":7}}}`)), `"timeout" of profile "x" is not a string`},
		"a batch with more behind it":          {dialing("batch", file(`[{"id":"tools.a.b"}] x`)), "JSON"},
		"a batch with a member twice":          {dialing("batch", file(`[{"id":"tools.a.b","args":{"n":1,"n":2}}]`)), "JSON"},
		"a peer as large as no file of it":     {line("id", big), "more than 16 MiB"},
		"a manifest without an end":            {line("manifest", "check", big), "more than 16 MiB"},
		"a manifest of one's own without end":  {append(dialing("ping"), "--manifest", big), "more than 16 MiB"},
		"a key without an end":                 {append(dialing("ping"), "--key", big), "more than 16 MiB"},
		"a batch without an end":               {dialing("batch", big), "more than 16 MiB"},
		"a payload without an end":             {dialing("port", "knowledge.get", "@"+big), "more than 16 MiB"},
		"profiles without an end":              {dialing("ping", "--config", big), "more than 16 MiB"},
		"allowed peers without an end":         {line("serve", "--key", key, "--allow-file", big), "more than 16 MiB"},
		"no time to wait":                      {dialing("ping", "--timeout", "0s"), "--timeout"},
		"less than no time":                    {dialing("tools", "--timeout=-1s"), "--timeout"},
		"a call's arguments that are no JSON":  {dialing("call", "tools.a.b", "{"), "not JSON"},
		"a call's arguments with one twice":    {dialing("call", "tools.a.b", `{"n":1,"n":2}`), "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := spokeCommand(t, c.args...)
			assert.Equal(t, statusUsage, r.status)
			assert.Empty(t, r.stdout)
			assert.Contains(t, r.stderr, c.says)
			assert.NotContains(t, r.stderr, "secret")
		})
	}
}
