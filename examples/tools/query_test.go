package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/spoke"
	"github.com/spoke-peer/spoke-go/tools"
)

// queried is a registry with a query on a database of ships, beside another database.
func queried(t *testing.T) (r *tools.Registry, dir string) {
	t.Helper()
	dir = t.TempDir()
	for file, script := range map[string]string{
		"ships.db": `CREATE TABLE ships (name TEXT, tons INTEGER, plan BLOB, ratio REAL); CREATE INDEX by_name ON ships (name);
			INSERT INTO ships VALUES ('Ada', 120, x'0001', 0.5), ('Bea', 9007199254740993, NULL, 9e999)`,
		"other.db": `CREATE TABLE secrets (text TEXT); INSERT INTO secrets VALUES ('4711')`,
	} {
		db, err := sql.Open("sqlite", filepath.Join(dir, file))
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), script)
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
	q, err := newQuery(filepath.Join(dir, "ships.db"))
	require.NoError(t, err)
	t.Cleanup(func() { q.db.Close() })
	return registryOf(t, q.tool()), dir
}

func TestAQueryReads(t *testing.T) {
	r, _ := queried(t)
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"sql": "SELECT * FROM ships"},
			`{"columns":["name","tons","plan","ratio"],"rows":[["Ada",120,"AAE=",0.5],["Bea","9007199254740993",null,null]],"truncated":false}`},
		{map[string]any{"sql": "SELECT name FROM ships WHERE name = ?", "params": []any{"Ada"}}, `{"columns":["name"],"rows":[["Ada"]],"truncated":false}`},
		{map[string]any{"sql": "SELECT name FROM ships WHERE name = ?", "params": []any{"' OR 1=1 --"}}, `{"columns":["name"],"rows":[],"truncated":false}`},
		{map[string]any{"sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n", "limit": 2},
			`{"columns":["i"],"rows":[[1],[2]],"truncated":true}`},
		{map[string]any{"sql": "SELECT upper(name) AS u FROM ships LIMIT 1"}, `{"columns":["u"],"rows":[["ADA"]],"truncated":false}`},
	} {
		got, err := r.InvokeTool(t.Context(), queryID, c.args)
		require.NoError(t, err, "%v", c.args)
		assert.JSONEq(t, c.want, string(got), "%v", c.args)
	}
}

func TestAQueryCanNeitherWriteNorReachAnotherFile(t *testing.T) {
	r, dir := queried(t)
	before := snapshot(t, dir)
	other, out := filepath.Join(dir, "other.db"), filepath.Join(dir, "out.db")
	for _, statement := range []string{
		"INSERT INTO ships VALUES ('X', 1, NULL, 1)", "DELETE FROM ships", "UPDATE ships SET tons = 0", "DROP TABLE ships",
		"CREATE TABLE t (a)", "CREATE TEMP TABLE t (a)", "CREATE INDEX i ON ships (name)", "ALTER TABLE ships ADD COLUMN x", "REPLACE INTO ships(name) VALUES ('X')",
		"SELECT 1; DELETE FROM ships", "PRAGMA query_only = 0; DELETE FROM ships", "PRAGMA writable_schema = 1", "PRAGMA journal_mode = WAL", "PRAGMA database_list",
		"ATTACH '" + other + "' AS o", "ATTACH '" + other + "' AS o; SELECT * FROM o.secrets", "ATTACH '" + out + "' AS o", "VACUUM", "VACUUM INTO '" + out + "'",
		"SELECT file FROM pragma_database_list", "SELECT * FROM PRAGMA_database_list", "SELECT load_extension('" + out + "')", "SELECT readfile('" + other + "')",
		"SELECT writefile('" + out + "', 'x')", "SELECT * FROM fsdir('/')", "BEGIN IMMEDIATE", "REINDEX", "ANALYZE", "WITH x AS (SELECT 1) DELETE FROM ships",
		"SELECT * FROM nothing", "nonsense", "SELECT zeroblob(100000000)", "SELECT replace(hex(zeroblob(30000)), '0', 'abcdefgh')",
	} {
		_, err := r.InvokeTool(t.Context(), queryID, map[string]any{"sql": statement})
		assert.Equal(t, "sql_error", failureOf(err), statement)
		if err != nil {
			assert.NotContains(t, err.Error(), dir+"/ships", "the place of the file is nobody's business")
		}
	}
	assert.Equal(t, before, snapshot(t, dir), "no file changed, none came")
	got, err := r.InvokeTool(t.Context(), queryID, map[string]any{"sql": "SELECT count(*) AS n FROM ships"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"columns":["n"],"rows":[[2]],"truncated":false}`, string(got))
}

// snapshot returns what is in every file of a directory.
func snapshot(t *testing.T, dir string) map[string][sha256.Size]byte {
	t.Helper()
	sums := map[string][sha256.Size]byte{}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		sums[e.Name()] = sha256.Sum256(text)
	}
	return sums
}

// Even without the authorizer the file is opened for reading only.
func TestTheDatabaseIsOpenedForReadingOnly(t *testing.T) {
	_, dir := queried(t)
	q, err := newQuery(filepath.Join(dir, "ships.db"))
	require.NoError(t, err)
	defer q.db.Close()
	_, err = q.db.ExecContext(t.Context(), "PRAGMA query_only = 0; DELETE FROM ships")
	assert.ErrorContains(t, err, "readonly")
	missing, err := newQuery(filepath.Join(dir, "missing.db"))
	require.NoError(t, err)
	defer missing.db.Close()
	assert.Error(t, missing.db.PingContext(t.Context()))
	assert.NoFileExists(t, filepath.Join(dir, "missing.db"))
}

func TestAQueryIsBounded(t *testing.T) {
	r, _ := queried(t)
	endless := map[string]any{"sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n"}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	started := time.Now()
	_, err := r.InvokeTool(ctx, queryID, endless)
	assert.Equal(t, spoke.KindTimeout, spoke.KindOf(err), "%v", err)
	assert.Less(t, time.Since(started), 10*time.Second)

	_, err = r.InvokeTool(t.Context(), queryID, map[string]any{"limit": 500,
		"sql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT hex(zeroblob(30000)) FROM n"})
	assert.Equal(t, "result_too_large", failureOf(err))
	for _, args := range []map[string]any{{}, {"sql": ""}, {"sql": "SELECT 1", "limit": 501}, {"sql": strings.Repeat("x", 4001)}, {"sql": "SELECT 1", "params": "x"}} {
		_, err := r.InvokeTool(t.Context(), queryID, args)
		assert.Equal(t, spoke.CodeInvalidInput, spoke.CodeOf(err))
	}
}
