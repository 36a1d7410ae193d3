package rfc3339_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spoke-peer/spoke-go/internal/rfc3339"
)

// accepted are texts and the same moments as Go writes them in UTC.
var accepted = []struct{ name, text, want string }{
	{"a moment in UTC", "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
	{"a small t and z", "2026-01-02t03:04:05z", "2026-01-02T03:04:05Z"},
	{"an offset east", "2026-01-02T03:04:05+05:30", "2026-01-01T21:34:05Z"},
	{"an offset west", "2026-12-31T23:04:05-08:00", "2027-01-01T07:04:05Z"},
	{"an unknown offset", "2026-01-02T03:04:05-00:00", "2026-01-02T03:04:05Z"},
	{"the largest offset", "2026-01-02T23:59:00+23:59", "2026-01-02T00:00:00Z"},
	{"a fraction", "2026-01-02T03:04:05.25Z", "2026-01-02T03:04:05.25Z"},
	{"more digits than nanoseconds", "2026-01-02T03:04:05.1234567899Z", "2026-01-02T03:04:05.123456789Z"},
	{"a leap day", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
	{"the first year", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"},
	{"the last second", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"},
	{"a leap second", "1998-12-31T23:59:60Z", "1999-01-01T00:00:00Z"},
	{"a leap second with a fraction", "2016-12-31T23:59:60.5Z", "2017-01-01T00:00:00.5Z"},
	{"a leap second in the west", "1990-12-31T15:59:60-08:00", "1991-01-01T00:00:00Z"},
	{"a leap second in the east", "2017-01-01T05:29:60+05:30", "2017-01-01T00:00:00Z"},
	{"a leap second in the east at midnight", "2017-01-01T00:59:60+01:00", "2017-01-01T00:00:00Z"},
}

var refused = []struct{ name, text, why string }{
	{"nothing", "", "a date, T and"},
	{"a date", "2026-01-02", "a date, T and"},
	{"a time of day", "03:04:05Z", "a date, T and"},
	{"a space for the T", "2026-01-02 03:04:05Z", "a date, T and"},
	{"a year of five digits", "12026-01-02T03:04:05Z", "a date, T and"},
	{"a sign before the year", "-026-01-02T03:04:05Z", "YYYY-MM-DD"},
	{"slashes", "2026/01/02T03:04:05Z", "YYYY-MM-DD"},
	{"month 0", "2026-00-02T03:04:05Z", "YYYY-MM-DD"},
	{"month 13", "2026-13-02T03:04:05Z", "YYYY-MM-DD"},
	{"day 0", "2026-01-00T03:04:05Z", "YYYY-MM-DD"},
	{"a leap day in another year", "2023-02-29T03:04:05Z", "no day 29"},
	{"31 November", "2026-11-31T03:04:05Z", "no day 31"},
	{"digits that are not ASCII", "2026-01-0২T03:04:05Z", "a date, T and"},
	{"one digit for the hour", "2026-01-02T3:04:05Z", "HH:MM:SS"},
	{"hour 24", "2026-01-02T24:00:00Z", "HH:MM:SS"},
	{"minute 60", "2026-01-02T03:60:05Z", "HH:MM:SS"},
	{"second 61", "2026-01-02T03:04:61Z", "HH:MM:SS"},
	{"no seconds", "2026-01-02T03:04Z", "HH:MM:SS"},
	{"a comma", "2026-01-02T03:04:05,25Z", "offset"},
	{"a point without digits", "2026-01-02T03:04:05.Z", "HH:MM:SS"},
	{"no offset", "2026-01-02T03:04:05", "offset"},
	{"an offset without a colon", "2026-01-02T03:04:05+0530", "offset"},
	{"an offset of hours", "2026-01-02T03:04:05+05", "offset"},
	{"an offset of 24 hours", "2026-01-02T03:04:05+24:00", "offset"},
	{"an offset of 60 minutes", "2026-01-02T03:04:05+05:60", "offset"},
	{"text behind the offset", "2026-01-02T03:04:05Z ", "offset"},
	{"a leap second at noon", "2016-12-31T12:59:60Z", "23:59:60"},
	{"a leap second that is none in UTC", "2016-12-31T23:59:60+01:00", "23:59:60"},
	{"a leap second within a month", "2016-12-30T23:59:60Z", "end a month"},
	{"a leap second that ends a month only in the west", "1990-12-30T15:59:60-08:00", "end a month"},
}

func TestParseTakesWhatRFC3339Allows(t *testing.T) {
	for _, c := range accepted {
		t.Run(c.name, func(t *testing.T) {
			got, err := rfc3339.Parse(c.text)
			require.NoError(t, err)
			assert.Equal(t, c.want, got.UTC().Format(time.RFC3339Nano))
		})
	}
}

func TestParseKeepsTheOffset(t *testing.T) {
	got, err := rfc3339.Parse("2026-01-02T03:04:05-08:00")
	require.NoError(t, err)
	assert.Equal(t, "2026-01-02T03:04:05-08:00", got.Format(time.RFC3339))
	got, err = rfc3339.Parse("2026-01-02T03:04:05+00:00")
	require.NoError(t, err)
	assert.Equal(t, time.UTC, got.Location())
}

func TestParseRefusesEverythingElse(t *testing.T) {
	for _, c := range refused {
		t.Run(c.name, func(t *testing.T) {
			_, err := rfc3339.Parse(c.text)
			assert.ErrorContains(t, err, c.why)
		})
	}
}

func TestCheckClockTakesTimesOfDay(t *testing.T) {
	for _, text := range []string{"00:00:00Z", "23:59:59.999+23:59", "12:00:00z", "23:59:60Z", "15:59:60-08:00"} {
		assert.NoError(t, rfc3339.CheckClock(text), text)
	}
	for _, text := range []string{"", "12:00:00", "1:00:00Z", "12:00Z", "12:00:00,5Z", "24:00:00Z", "23:58:60Z", "23:59:60+01:00", "2026-01-02T12:00:00Z"} {
		assert.Error(t, rfc3339.CheckClock(text), text)
	}
}

// FuzzParse holds for any text: what is accepted, time.Parse accepts in capitals as the
// same moment, unless it is a leap second.
func FuzzParse(f *testing.F) {
	seeds := 0
	for _, c := range accepted {
		f.Add(c.text)
		seeds++
	}
	for _, c := range refused {
		f.Add(c.text)
		seeds++
	}
	require.NotZero(f, seeds)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := rfc3339.Parse(text)
		if err != nil {
			return
		}
		capitals := strings.ToUpper(text)
		leap := capitals[17:19] == "60"
		if leap {
			capitals = capitals[:17] + "59" + capitals[19:]
		}
		want, err := time.Parse(time.RFC3339Nano, capitals)
		require.NoError(t, err)
		if leap {
			want = want.Add(time.Second)
		}
		assert.True(t, got.Equal(want), "%v is not %v", got, want)
	})
}
