package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/labplatform/labplatform/pkg/testkit/netfault"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

func TestTheSameSeedBreaksTheSameThings(t *testing.T) {
	t.Parallel()
	p := &platform{Sandbox: &sandbox.Sandbox{}, services: []string{"gateway", "rerun"}, engines: []string{"mysql", "redis"},
		links: map[string]*netfault.Link{"mysql": nil, "rerun": nil}}
	play := func(seed uint64) (told []string) {
		all, err := p.chosen("all")
		if err != nil {
			t.Fatal(err)
		}
		d := draws{rand.New(rand.NewPCG(seed, seed)), p, all, nil, nil}
		for range 100 {
			told = append(told, faultNames(d.next()))
		}
		return told
	}
	if first := play(7); !slices.Equal(first, play(7)) || slices.Equal(first, play(8)) {
		t.Errorf("seed 7 draws %v, and then others, or seed 8 the same", first)
	}
	if list, err := p.chosen("silent,power"); len(list) != 2 || err != nil {
		t.Errorf("%d faults are chosen: %v", len(list), err)
	}
	if _, err := p.chosen("silent,flood"); fmt.Sprint(err) != "there is no fault called flood" {
		t.Error(err)
	}
}

func TestSettingsLeadOverALink(t *testing.T) {
	t.Parallel()
	l := netfault.New(t, "127.0.0.1:28030")
	environ := map[string]string{"A_DB_HOST": "127.0.0.1", "A_DB_PORT": "28030", "A_GRPC_PORT": "28030",
		"A_KV_URL": "redis://127.0.0.1:28030/0", "A_WEBHOOK": "http://127.0.0.1:2803"}
	reroute(environ, "127.0.0.1:28030", l)
	want := map[string]string{"A_DB_HOST": "127.0.0.1", "A_DB_PORT": fmt.Sprint(l.Port()), "A_GRPC_PORT": "28030",
		"A_KV_URL": "redis://" + l.Addr() + "/0", "A_WEBHOOK": "http://127.0.0.1:2803"}
	if got, want := fmt.Sprint(environ), fmt.Sprint(want); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
