// Package rfc3339 reads the times of RFC 3339, neither more nor less: time.Parse takes
// one digit for an hour and a comma for a point, and no small t, no small z and no leap
// second.
//
// Source: RFC 3339, sections 5.6 and 5.7.
package rfc3339

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Parse returns the moment that text, a date-time, names; it is in UTC when the offset is
// 0. Digits behind the nanoseconds do not count. Second 60 is accepted where a leap second
// can be, at the end of a month in UTC, and is the second that follows.
func Parse(text string) (time.Time, error) {
	date, clock, ok := cut(text)
	if !ok {
		return time.Time{}, errors.New("a time must be a date, T and a time of day")
	}
	year, month, day, err := parseDate(date)
	if err != nil {
		return time.Time{}, err
	}
	c, err := parseClock(clock)
	if err != nil {
		return time.Time{}, err
	}
	t := time.Date(year, time.Month(month), day, c.hour, c.minute, c.second, c.nanosecond, c.location())
	if c.second == 60 && t.UTC().Day() != 1 {
		return time.Time{}, errors.New("a leap second must end a month in UTC")
	}
	return t, nil
}

// CheckClock returns why text is no full-time, the part of a date-time behind the T.
// Without a date, every day may end in a leap second.
func CheckClock(text string) error {
	_, err := parseClock(text)
	return err
}

// cut splits a date-time at the T.
func cut(text string) (date, clock string, ok bool) {
	i := len("2006-01-02")
	if len(text) <= i || text[i] != 'T' && text[i] != 't' {
		return "", "", false
	}
	return text[:i], text[i+1:], true
}

func parseDate(text string) (year, month, day int, err error) {
	year, ok1 := number(text[:4], 0, 9999)
	month, ok2 := number(text[5:7], 1, 12)
	day, ok3 := number(text[8:], 1, 31)
	if !ok1 || !ok2 || !ok3 || text[4] != '-' || text[7] != '-' {
		return 0, 0, 0, errors.New("a date must be YYYY-MM-DD")
	}
	if last := time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day(); day > last {
		return 0, 0, 0, fmt.Errorf("the month has no day %d", day)
	}
	return year, month, day, nil
}

// clock is a time of day and where it is that time.
type clock struct {
	hour, minute, second, nanosecond int
	offset                           int // minutes east of UTC
}

func (c clock) location() *time.Location {
	if c.offset == 0 {
		return time.UTC
	}
	return time.FixedZone("", c.offset*60)
}

// minuteInUTC returns the minute of the day in UTC.
func (c clock) minuteInUTC() int {
	const day = 24 * 60
	return (c.hour*60 + c.minute - c.offset + day) % day
}

func parseClock(text string) (c clock, err error) {
	const seconds = len("15:04:05")
	if len(text) < seconds || text[2] != ':' || text[5] != ':' {
		return c, errClock
	}
	var ok1, ok2, ok3, ok4, ok5 bool
	c.hour, ok1 = number(text[:2], 0, 23)
	c.minute, ok2 = number(text[3:5], 0, 59)
	c.second, ok3 = number(text[6:8], 0, 60)
	c.nanosecond, text, ok4 = fraction(text[seconds:])
	c.offset, ok5 = parseOffset(text)
	switch {
	case !ok1 || !ok2 || !ok3 || !ok4:
		return c, errClock
	case !ok5:
		return c, errors.New("an offset must be Z or ±HH:MM")
	case c.second == 60 && c.minuteInUTC() != 23*60+59:
		return c, errors.New("a leap second must be at 23:59:60 in UTC")
	}
	return c, nil
}

var errClock = errors.New("a time of day must be HH:MM:SS, which a point and digits may follow")

// fraction reads the fraction of a second that text may begin with.
func fraction(text string) (nanosecond int, rest string, ok bool) {
	if !strings.HasPrefix(text, ".") {
		return 0, text, true
	}
	text = text[1:]
	rest = strings.TrimLeft(text, "0123456789")
	digits := text[:len(text)-len(rest)]
	nanosecond, _ = number((digits + "000000000")[:9], 0, 999_999_999)
	return nanosecond, rest, digits != ""
}

// parseOffset returns the minutes east of UTC.
func parseOffset(text string) (minutes int, ok bool) {
	if text == "Z" || text == "z" {
		return 0, true
	}
	if len(text) != len("+07:00") || text[0] != '+' && text[0] != '-' || text[3] != ':' {
		return 0, false
	}
	hour, ok1 := number(text[1:3], 0, 23)
	minute, ok2 := number(text[4:], 0, 59)
	minutes = hour*60 + minute
	if text[0] == '-' {
		minutes = -minutes
	}
	return minutes, ok1 && ok2
}

// number reads text that is digits only, within bounds.
func number(text string, least, most int) (n int, ok bool) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return 0, false
		}
		n = 10*n + int(text[i]-'0')
	}
	return n, n >= least && n <= most
}
