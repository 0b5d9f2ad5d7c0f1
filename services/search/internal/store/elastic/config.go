package elastic

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// maxWeight is the maximum of RecencyWeight. The best hit of a tier scores less than twice its constant, and the next
// tier begins at 2 × (1 + 4) times the constant, so recency does not lift a hit into the next tier.
const maxWeight = 4

// Config holds the settings of searches in the index.
type Config struct {
	// SearchTimeout is the timeout of one search, in seconds.
	SearchTimeout int `env:"ES_SEARCH_TIMEOUT" envDefault:"5"`
	// RecencyEnabled ranks patients with a recent bill above others that match equally well.
	RecencyEnabled bool `env:"RECENCY_DECAY_ENABLED" envDefault:"false"`
	// RecencyScaleDays is the time after the offset at which the boost of a bill has dropped to RecencyFactor.
	RecencyScaleDays  int     `env:"RECENCY_DECAY_SCALE_DAYS" envDefault:"90"`
	RecencyOffsetDays int     `env:"RECENCY_DECAY_OFFSET_DAYS" envDefault:"7"`
	RecencyFactor     float64 `env:"RECENCY_DECAY_FACTOR" envDefault:"0.5"`
	// RecencyWeight is the boost for a bill of today: the score is multiplied by 1 + weight.
	RecencyWeight float64 `env:"RECENCY_DECAY_WEIGHT" envDefault:"1.5"`
	// Alias is the alias of the index, as set by the pipeline.
	Alias string `env:"INDEX_ALIAS" envDefault:"user_details"`
	// PhoneCountryCodes are the digits that people may write before a national telephone number.
	PhoneCountryCodes []string `env:"PHONE_COUNTRY_CODES" envDefault:"91,0"`
}

// Validate rejects settings with which searches would fail or rank incorrectly.
func (c *Config) Validate() error {
	var problems []error
	check := func(ok bool, message string) {
		if !ok {
			problems = append(problems, errors.New(message))
		}
	}
	check(c.SearchTimeout >= 1, "ES_SEARCH_TIMEOUT must be at least 1 second")
	check(c.RecencyScaleDays >= 1, "RECENCY_DECAY_SCALE_DAYS must be at least 1")
	check(c.RecencyOffsetDays >= 0, "RECENCY_DECAY_OFFSET_DAYS must not be negative")
	check(c.RecencyFactor > 0 && c.RecencyFactor < 1, "RECENCY_DECAY_FACTOR must be between 0 and 1")
	check(c.RecencyWeight >= 0 && c.RecencyWeight <= maxWeight,
		"RECENCY_DECAY_WEIGHT must be from 0 to 4: more would lift similar names above equal ones")
	check(c.Alias != "", "INDEX_ALIAS must not be empty")
	noDigits := func(code string) bool { return code == "" || strings.Trim(code, "0123456789") != "" }
	check(!slices.ContainsFunc(c.PhoneCountryCodes, noDigits),
		"PHONE_COUNTRY_CODES must be digits, separated by commas")
	return errors.Join(problems...)
}

func (c *Config) timeout() time.Duration { return time.Duration(c.SearchTimeout) * time.Second }
