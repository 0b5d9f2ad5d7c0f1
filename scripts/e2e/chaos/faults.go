package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/labplatform/labplatform/pkg/testkit/netfault"
)

// fault is something that is broken on purpose for some time.
type fault struct {
	class, target string
	hold          time.Duration
	ready         func(context.Context) error // waits for the precondition of the fault; may be nil
	begin, end    func(context.Context) error
}

func (f fault) String() string {
	if f.hold == 0 {
		return f.class + " " + f.target
	}
	return fmt.Sprintf("%s %s for %.1f s", f.class, f.target, f.hold.Seconds())
}

// class is a kind of fault: its possible targets, and how to cause it.
type class struct {
	name, says string
	targets    func(*platform) []string
	least      time.Duration // a fault lasts from least to twice this time
	do         func(*platform, string) (begin, end func(context.Context) error)
}

var classes = []class{
	{"kill-service", "kill -9 of a service; another process takes its place", (*platform).allServices, time.Second, kill},
	{"freeze-service", "SIGSTOP of a service, which keeps its connections and sends nothing; then SIGCONT", (*platform).allServices, 4 * time.Second, freeze},
	{"kill-engine", "kill -9 of an engine, and a start on the same data", (*platform).allEngines, 2 * time.Second, kill},
	{"freeze-engine", "SIGSTOP of an engine, then SIGCONT", (*platform).allEngines, 4 * time.Second, freeze},
	{"silent", "the network to an engine or a service drops all packets", (*platform).linked, 5 * time.Second, weather((*netfault.Link).Silence)},
	{"half-open", "requests to an engine or a service arrive, responses do not", (*platform).linked, 5 * time.Second, weather((*netfault.Link).SilenceResponses)},
	{"slow", "each packet to an engine or a service takes a tenth of a second, at 64 KiB/s", (*platform).linked, 5 * time.Second,
		weather(func(l *netfault.Link) { l.Slow(100*time.Millisecond, 64<<10) })},
	{"cut", "existing and new connections to an engine or a service are reset", (*platform).linked, 3 * time.Second, weather((*netfault.Link).Cut)},
	{"full-disk", "the disk of a store has no free byte", (*platform).smallDisks, 4 * time.Second, fullDisk},
	{"clock", "the clock of an engine goes a minute ahead (MySQL and Redis, where libfaketime is installed)", (*platform).skewable,
		6 * time.Second, skew},
	{"power", "kill -9 of all processes at once, and a start of all processes at once", whole, 2 * time.Second, power},
	{"failover", "kill -9 of the database's primary; its semi-synchronous replica becomes the primary (MariaDB)",
		(*platform).withReplicas, time.Second, failover},
	{"rolling", "SIGTERM and a new process for one service after the other", whole, 0, rolling},
	{"upgrade", "service by service, a rollback to the previous version and an upgrade to the present version", whole, 2 * time.Second, upgrade},
	{"rotation", "every secret and the password of the database are rotated and rotated back, each step service by service", whole, 0, rotation},
}

func (p *platform) allServices() []string { return p.services }
func (p *platform) allEngines() []string  { return p.engines }
func (p *platform) linked() []string      { return slices.Sorted(maps.Keys(p.links)) }
func (p *platform) smallDisks() []string  { return slices.Sorted(maps.Keys(p.disks)) }

// everything is the target of faults of the whole platform.
const everything = "everything"

func whole(*platform) []string { return []string{everything} }

// chosen returns the named classes, separated by commas, that have a target here.
func (p *platform) chosen(names string) (list []class, err error) {
	unknown := strings.Split(cmp.Or(names, "all"), ",")
	all := slices.Contains(unknown, "all")
	for _, c := range classes {
		if (all || slices.Contains(unknown, c.name)) && len(c.targets(p)) > 0 {
			list = append(list, c)
		}
		unknown = slices.DeleteFunc(unknown, func(name string) bool { return name == c.name || name == "all" })
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("there is no fault called %s", strings.Join(unknown, ", "))
	}
	return list, nil
}

// draws is an endless sequence of faults. Every class occurs once before any class occurs a second time.
type draws struct {
	*rand.Rand
	p     *platform
	all   []class
	queue []class
	spare []fault // faults that were drawn and postponed
}

// next returns one fault, or sometimes two different ones at once.
func (d *draws) next() []fault {
	if len(d.spare) > 0 {
		put := d.spare[0]
		d.spare = d.spare[1:]
		return []fault{put}
	}
	first := d.one()
	if first.target == everything || d.IntN(4) != 0 {
		return []fault{first}
	}
	second := d.one()
	if second.target == everything || second.target == first.target {
		d.spare = append(d.spare, second)
		return []fault{first}
	}
	return []fault{first, second}
}

func (d *draws) one() fault {
	if len(d.queue) == 0 {
		d.queue = slices.Clone(d.all)
		d.Shuffle(len(d.queue), func(i, j int) { d.queue[i], d.queue[j] = d.queue[j], d.queue[i] })
	}
	c := d.queue[0]
	d.queue = d.queue[1:]
	targets := c.targets(d.p)
	f := fault{class: c.name, target: targets[d.IntN(len(targets))]}
	f.hold = c.least + time.Duration(d.Float64()*float64(c.least)).Truncate(100*time.Millisecond)
	f.begin, f.end = c.do(d.p, f.target)
	switch c.name {
	case "failover":
		f.ready = d.p.follow
	case "upgrade":
		f.ready = d.p.buildPrevious
	}
	return f
}

func kill(p *platform, name string) (begin, end func(context.Context) error) {
	return func(context.Context) error { return p.Kill(name) },
		func(context.Context) error { return p.Start(name, nil) }
}

func freeze(p *platform, name string) (begin, end func(context.Context) error) {
	send := func(s syscall.Signal) func(context.Context) error {
		return func(context.Context) error { return p.Signal(name, s) }
	}
	return send(syscall.SIGSTOP), send(syscall.SIGCONT)
}

func weather(worsen func(*netfault.Link)) func(*platform, string) (begin, end func(context.Context) error) {
	return func(p *platform, name string) (begin, end func(context.Context) error) {
		return func(context.Context) error { worsen(p.links[name]); return nil },
			func(context.Context) error { p.links[name].Restore(); return nil }
	}
}

func fullDisk(p *platform, name string) (begin, end func(context.Context) error) {
	folder := p.disks[name]
	return func(context.Context) error { return fill(folder) }, func(context.Context) error {
		err := os.Remove(filepath.Join(folder, filler))
		if slices.Contains(p.engines, name) && syscall.Kill(p.PID(name), 0) != nil {
			return errors.Join(err, p.Start(name, nil)) // it has ended by itself and is started as a kubelet would
		}
		return err
	}
}

// library is the file of the Debian package faketime that changes the time of a process.
const library = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"

// ahead is how far the clock is wrong.
const ahead = time.Minute

func (p *platform) skewable() []string {
	if _, err := os.Stat(library); err != nil {
		return nil
	}
	return []string{"mysql", "redis"}
}

// skew restarts an engine with a wrong clock, and at the end with the right one.
func skew(p *platform, name string) (begin, end func(context.Context) error) {
	again := func(change map[string]string) func(context.Context) error {
		return func(context.Context) error { return errors.Join(p.Stop(name), p.Start(name, change)) }
	}
	change := map[string]string{"LD_PRELOAD": library, "FAKETIME": fmt.Sprintf("+%.0f", ahead.Seconds()),
		"FAKETIME_DONT_FAKE_MONOTONIC": "1"}
	return again(change), again(nil)
}

func power(p *platform, _ string) (begin, end func(context.Context) error) {
	all := slices.Concat(p.services, p.engines)
	return func(ctx context.Context) error {
			return p.each(ctx, all, func(_ context.Context, name string) error { return p.Kill(name) })
		}, func(ctx context.Context) error {
			return p.each(ctx, all, func(_ context.Context, name string) error { return p.Start(name, nil) })
		}
}

func rolling(p *platform, _ string) (begin, end func(context.Context) error) {
	return p.replaceAll, func(context.Context) error { return nil }
}

func (p *platform) replaceAll(ctx context.Context) error {
	for _, service := range p.services {
		if err := p.replace(ctx, service); err != nil {
			return err
		}
	}
	return nil
}

// rotation replaces all secrets in two steps, and restores them at the end. Tokens of the simulated core, which signs
// with the old secrets, stay valid. The database gets a second user, because a password cannot have an old and a new
// value at once.
func rotation(p *platform, _ string) (begin, end func(context.Context) error) {
	before := map[string]map[string]string{}
	for service, environ := range p.Endpoints.Environ {
		before[service] = maps.Clone(environ)
	}
	set := func(ctx context.Context, change func(older, newer string) string, user, password string) error {
		for service, environ := range p.Endpoints.Environ {
			for key, older := range before[service] {
				switch {
				case strings.HasSuffix(key, "_SECRET") && older != "":
					environ[key] = change(older, fmt.Sprintf("%x", sha256.Sum256([]byte(older))))
				case strings.HasSuffix(key, "_DB_USER") && older == "root":
					environ[key] = user
					environ[strings.TrimSuffix(key, "USER")+"PASSWORD"] = password
				}
			}
		}
		return p.replaceAll(ctx)
	}
	learn := func(older, newer string) string { return older + "," + newer }
	sign := func(older, newer string) string { return newer + "," + older }
	alone := func(older, _ string) string { return older }
	const second, password = "second", "of the second"
	return func(ctx context.Context) error {
			return errors.Join(
				p.execute(ctx, "CREATE USER IF NOT EXISTS second IDENTIFIED BY '"+password+"'", "GRANT ALL ON *.* TO second"),
				set(ctx, learn, "root", ""), set(ctx, sign, second, password))
		}, func(ctx context.Context) error {
			return errors.Join(set(ctx, learn, second, password), set(ctx, alone, "root", ""),
				p.execute(ctx, "DROP USER second"))
		}
}

// execute runs statements on the database as its administrator.
func (p *platform) execute(ctx context.Context, statements ...string) error {
	db, err := openStore("root@tcp(" + p.primary + ")/")
	if err != nil {
		return err
	}
	defer db.Close()
	return inOrder(ctx, db, statements...)
}
