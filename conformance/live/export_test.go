package live

// Only makes a run play the rules whose names contain text, and no others.
func (c *Config) Only(text string) { c.only = text }

// Clip is how long values are shown.
var Clip = clip
