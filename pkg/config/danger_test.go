package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/labplatform/labplatform/pkg/config"
)

type dangerous struct {
	Access   string        `env:"ACCESS" envDefault:"authenticated" danger:"open|off: everybody enters"`
	TLS      bool          `env:"TLS" danger:"false: everybody reads"`
	Password config.Secret `env:"PASSWORD" danger:": everybody connects"`
	Hosts    []string      `env:"HOSTS" danger:"*: these hosts are not checked"`
	File     string        `env:"FILE" absolute:"true" danger:"*: everybody signs in"`
	Level    string        `env:"LEVEL"`
	Nested   struct {
		On bool `env:"ON" danger:"true: everybody sees"`
	} `envPrefix:"PAGE_"`
}

func TestOnlyDangerousValuesInForceAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ, want []string
	}{
		{nil, []string{"X_TLS is false: everybody reads", "X_PASSWORD is empty: everybody connects"}},
		{[]string{"X_TLS=true", "X_PASSWORD=p"}, nil},
		{[]string{"X_ACCESS=open", "X_TLS=1", "X_PASSWORD=p", "X_HOSTS=a,b", "FILE=/people.json", "X_PAGE_ON=true"}, []string{
			"X_ACCESS is open: everybody enters", "X_HOSTS is a b: these hosts are not checked",
			"FILE is /people.json: everybody signs in", "X_PAGE_ON is true: everybody sees",
		}},
	} {
		var cfg dangerous
		if err := config.Load("X_", &cfg, c.environ); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, config.Dangers("X_", &cfg)); diff != "" {
			t.Errorf("%v: -want, +got:\n%s", c.environ, diff)
		}
	}
}
