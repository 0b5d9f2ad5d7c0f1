package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/testkit/netfault"
	"github.com/labplatform/labplatform/scripts/devstack/sandbox"
)

// Settings of the run: deadlines that pass within it, and no search limit, because all simulated staff are one user.
var settings = []string{
	"LAB_PIPELINE=on", "SEARCH_RATE_LIMIT_PER_MINUTE=1000000",
	"CALLOUT_ESCALATE_AFTER=30s", "CALLOUT_ESCALATE_MOST=1", "CALLOUT_REAP_INTERVAL=5s",
	"CALLOUT_SWEEP_INTERVAL=5s", "CALLOUT_SWEEP_SETTLED=20s",
}

// platform is a complete platform whose engines and services are connected by links that can be broken.
type platform struct {
	*sandbox.Sandbox
	links    map[string]*netfault.Link // by the engine or service behind the link
	disks    map[string]string         // small file systems: the folder, by the process that writes there
	services []string
	engines  []string

	primary    string         // host:port of the database's current primary
	core       *netfault.Link // never broken: used by the simulated core and the checker
	replica    *replica       // the current one
	generation int            // number of replicas so far
}

// start starts a platform; remove ends it. A platform without faults has no small disks, an idle one has links that
// close idle connections, and one whose speed is measured has no links.
func start(ctx context.Context, o options) (*platform, error) {
	broker, err := netfault.Listen()
	if err != nil {
		return nil, err
	}
	broker.CloseIdle(o.idle())
	p := &platform{links: map[string]*netfault.Link{"kafka": broker}, disks: map[string]string{}}
	if p.Sandbox, err = sandbox.Build(ctx, append(o.settings(), "LAB_KAFKA_ADVERTISED="+broker.Addr())...); err != nil {
		return nil, err
	}
	_ = mysql.SetLogger(&mysql.NopLogger{}) // engines are killed on purpose
	broker.Serve(p.KafkaListener())
	if _, err := p.Up(ctx); err != nil {
		p.remove()
		return nil, err
	}
	for name, argv := range p.Endpoints.Commands {
		if slices.Contains(argv, "serve") {
			p.services = append(p.services, name)
		} else {
			p.engines = append(p.engines, name)
		}
	}
	slices.Sort(p.services)
	slices.Sort(p.engines)
	switch {
	case o.patients > 0:
		return p, nil
	case o.quiet:
		err = p.linkAll(o.idle())
	default:
		err = errors.Join(p.linkAll(0), p.shrinkDisks(), p.serveObjects())
	}
	if err != nil {
		p.remove()
		return nil, err
	}
	return p, p.each(ctx, p.services, p.replace)
}

func (p *platform) remove() {
	p.Remove()
	for _, l := range p.links {
		l.Close()
	}
	if p.core != nil {
		p.core.Close()
	}
	p.unmount()
}

// linkAll puts a link before every engine and service, and its address into the settings of all services. The links are
// used from the next start on. They close connections that are idle for the given time, unless it is 0.
func (p *platform) linkAll(idle time.Duration) error {
	behind := map[string]string{"redis": p.Endpoints.RedisAddr}
	database, err := mysql.ParseDSN(p.Endpoints.MySQLDSN)
	if err != nil {
		return err
	}
	behind["mysql"], p.primary = database.Addr, database.Addr
	for name, text := range map[string]string{"mongo": p.Endpoints.MongoURI, "connector": p.Endpoints.Connector,
		"elasticsearch": p.Endpoints.Elasticsearch} {
		at, err := url.Parse(text)
		if err != nil {
			return err
		}
		behind[name] = at.Host
	}
	for service, address := range p.Endpoints.GRPC {
		behind[service] = address
	}
	for name, address := range behind {
		l, err := netfault.Listen()
		if err != nil {
			return err
		}
		l.CloseIdle(idle)
		l.Serve(address)
		p.links[name] = l
		for _, environ := range p.Endpoints.Environ {
			reroute(environ, address, l)
		}
	}
	if p.core, err = netfault.Listen(); err != nil {
		return err
	}
	p.core.Serve(database.Addr)
	p.Endpoints.MySQLDSN = strings.Replace(p.Endpoints.MySQLDSN, database.Addr, p.core.Addr(), 1)
	return nil
}

// reroute replaces an address in settings. A port without a host belongs to an engine, unless the service itself
// listens on it.
func reroute(environ map[string]string, address string, l *netfault.Link) {
	_, port, _ := net.SplitHostPort(address)
	for key, value := range environ {
		own := strings.HasSuffix(key, "_GRPC_PORT")
		switch {
		case strings.Contains(value, address):
			environ[key] = strings.ReplaceAll(value, address, l.Addr())
		case strings.HasSuffix(key, "_PORT") && !own && value == port:
			environ[key] = fmt.Sprint(l.Port())
		}
	}
}

// each calls do for all names concurrently.
func (p *platform) each(ctx context.Context, names []string, do func(context.Context, string) error) error {
	failures := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { failures[i] = do(ctx, name) })
	}
	all.Wait()
	return errors.Join(failures...)
}

// revive starts processes that ended by themselves, like a kubelet: a worker of Kafka Connect exits when it finds no
// broker.
func (p *platform) revive(ctx context.Context) (revived []string) {
	for {
		select {
		case <-ctx.Done():
			return revived
		case <-time.After(time.Second):
		}
		for _, name := range slices.Concat(p.services, p.engines) {
			if syscall.Kill(p.PID(name), 0) != nil && p.Start(name, nil) == nil {
				revived = append(revived, name)
			}
		}
	}
}

// replace stops a service with SIGTERM, as an operator would, starts it again and waits until it is ready.
func (p *platform) replace(ctx context.Context, service string) error {
	if err := errors.Join(p.Stop(service), p.Start(service, nil)); err != nil {
		return err
	}
	return p.ready(ctx, service)
}

// ready waits until a service is ready.
func (p *platform) ready(ctx context.Context, service string) error {
	return until(ctx, time.Minute, "readiness of "+service, func(ctx context.Context) error {
		_, err := p.fetch(ctx, p.adminURL(service)+"/health/ready")
		return err
	})
}

// adminURL returns the address of a service's health and metrics.
func (p *platform) adminURL(service string) string {
	for key, value := range p.Endpoints.Environ[service] {
		if strings.HasSuffix(key, "_ADMIN_PORT") || key == "SEARCH_PORT" {
			return "http://127.0.0.1:" + value
		}
	}
	return "http://" + service + ".has.no.admin.port"
}

// operator is the HTTP client for requests that are not part of the API.
var operator = &http.Client{Timeout: 3 * time.Second}

func (p *platform) fetch(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	response, err := operator.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %.200s", address, response.Status, text)
	}
	return string(text), err
}

// until repeats check until it succeeds; after limit it returns the last error.
func until(ctx context.Context, limit time.Duration, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var wrong error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if wrong == nil || ctx.Err() == nil { // later errors may only say that ctx has ended
			wrong = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s not within %v: %w", what, limit, wrong)
		case <-tick.C:
		}
	}
}
