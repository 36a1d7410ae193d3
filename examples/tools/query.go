package main

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/spoke-peer/spoke-go/tools"
)

const queryID = "tools.db.query"

type queryArgs struct {
	SQL    string `json:"sql" jsonschema:"one SELECT statement" minLength:"1" maxLength:"4000"`
	Params []any  `json:"params" jsonschema:"values for its ? marks" default:"[]" maxItems:"20"`
	Limit  int    `json:"limit" jsonschema:"most rows" default:"50" minimum:"1" maximum:"500"`
}

type queryResult struct {
	Columns   []string `json:"columns"`
	Rows      [][]any  `json:"rows"`
	Truncated bool     `json:"truncated" jsonschema:"whether there were more rows than the limit"`
}

// Bounds of one query, beside its timeout.
const (
	maxValueBytes  = 64 << 10
	maxResultBytes = 512 << 10
)

// query reads an SQLite database. The file is opened for reading only, and an
// authorizer lets statements do nothing but select: no writing, no other file through
// ATTACH or VACUUM INTO, no pragma.
type query struct{ db *sql.DB }

func newQuery(file string) (*query, error) {
	path := (&url.URL{Path: file}).EscapedPath()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=query_only(1)&_defensive=1")
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(-1) // each query has a connection of its own, with nothing left over
	return &query{db}, nil
}

func (q *query) tool() *tools.Tool {
	return tools.New(queryID, "Run a SELECT on the database.", q.run).With(tools.Metadata{
		Policy:      tools.PolicyRead,
		Keywords:    []string{"sql", "sqlite"},
		Idempotent:  true,
		Timeout:     queryTimeout,
		Concurrency: 2,
	})
}

func (q *query) run(ctx context.Context, in queryArgs) (queryResult, error) {
	conn, err := q.db.Conn(ctx)
	if err != nil {
		return queryResult{}, fmt.Errorf("connect: %w", err)
	}
	defer conn.Close()
	if err := restrict(conn); err != nil {
		return queryResult{}, fmt.Errorf("restrict: %w", err)
	}
	rows, err := conn.QueryContext(ctx, in.SQL, in.Params...)
	if err != nil {
		return queryResult{}, sqlFailure(ctx, err)
	}
	defer rows.Close()
	result, err := collect(rows, in.Limit)
	return result, sqlFailure(ctx, err)
}

// restrict leaves the connection nothing but reading the database it is for.
func restrict(conn *sql.Conn) error {
	for id, most := range map[int]int{
		sqlite3.SQLITE_LIMIT_ATTACHED: 0,
		sqlite3.SQLITE_LIMIT_LENGTH:   maxValueBytes,
	} {
		if _, err := sqlite.Limit(conn, id, most); err != nil {
			return err
		}
	}
	return conn.Raw(func(driver any) error {
		c, ok := driver.(sqlite.AuthorizerRegisterer)
		if !ok {
			return errors.New("the driver has no authorizer")
		}
		return c.RegisterAuthorizer(authorize)
	})
}

func authorize(action sqlite.AuthorizerActionCode, arg1, arg2, _, _ string) sqlite.AuthorizerReturnCode {
	switch action {
	case sqlite.AuthSelect, sqlite.AuthRecursive:
		return sqlite.AuthorizerOK
	case sqlite.AuthRead:
		// The tables of SQLite's own pragmas tell where the file is.
		if !strings.HasPrefix(strings.ToLower(arg1), "pragma_") {
			return sqlite.AuthorizerOK
		}
	case sqlite.AuthFunction:
		if !strings.EqualFold(arg2, "load_extension") {
			return sqlite.AuthorizerOK
		}
	}
	return sqlite.AuthorizerDeny
}

// sqlFailure tells the caller what is wrong with its statement.
func sqlFailure(ctx context.Context, err error) error {
	if known, ok := errors.AsType[*sqlite.Error](err); ok && ctx.Err() == nil {
		return &tools.Failure{Code: "sql_error", Message: known.Error()}
	}
	return err
}

var errTooLarge = &tools.Failure{Code: "result_too_large", Message: "the rows are too large; select less"}

func collect(rows *sql.Rows, limit int) (queryResult, error) {
	columns, err := rows.Columns()
	if err != nil {
		return queryResult{}, err
	}
	result, size := queryResult{Columns: columns}, 0
	for rows.Next() {
		if len(result.Rows) == limit {
			result.Truncated = true
			break
		}
		row, err := scan(rows, len(columns))
		if err != nil {
			return queryResult{}, err
		}
		if size += sizeOf(row); size > maxResultBytes {
			return queryResult{}, errTooLarge
		}
		result.Rows = append(result.Rows, row)
	}
	return result, rows.Err()
}

func scan(rows *sql.Rows, n int) ([]any, error) {
	row, into := make([]any, n), make([]any, n)
	for i := range row {
		into[i] = &row[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	for i, value := range row {
		row[i] = portable(value)
	}
	return row, nil
}

// maxExact is the largest integer that every JSON reader has exactly.
const maxExact = 1<<53 - 1

// portable returns what JSON can carry of a value: large integers and blobs as text.
func portable(value any) any {
	switch v := value.(type) {
	case int64:
		if v > maxExact || v < -maxExact {
			return strconv.FormatInt(v, 10)
		}
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return nil
		}
	case []byte:
		return base64.StdEncoding.EncodeToString(v)
	case string:
		return strings.ToValidUTF8(v, "\uFFFD")
	}
	return value
}

func sizeOf(row []any) int {
	size := 0
	for _, value := range row {
		size += 16
		if text, ok := value.(string); ok {
			size += len(text)
		}
	}
	return size
}
