package live

// Only makes a run play the rules whose names contain text, and no others.
func (c *Config) Only(text string) { c.only = text }
