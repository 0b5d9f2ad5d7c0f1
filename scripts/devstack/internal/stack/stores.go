package stack

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/labplatform/labplatform/pkg/mysqldb"
	"github.com/labplatform/labplatform/pkg/testkit/legacydb"
	"github.com/labplatform/labplatform/scripts/devstack/internal/engines"
	"github.com/labplatform/labplatform/scripts/devstack/internal/install"
	"github.com/labplatform/labplatform/scripts/devstack/internal/ports"
	"github.com/labplatform/labplatform/scripts/devstack/internal/roster"
	"github.com/labplatform/labplatform/scripts/devstack/internal/secrets"
	"github.com/labplatform/labplatform/scripts/devstack/internal/settings"
	"github.com/labplatform/labplatform/services/cdc/migrations"
)

// database is the name of the database, in MySQL and in the document store.
const database = "lab"

// describe sets every address of the stack before any process starts.
func (r *running) describe(kept secrets.Secrets) error {
	config, err := r.mysqlConfig()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(config.Addr)
	if err != nil || config.Net != "tcp" {
		return fmt.Errorf("LAB_MYSQL_DSN must reach its server over TCP, as in user:password@tcp(host:3306)/lab")
	}
	r.target = config.FormatDSN()
	r.stack = roster.Stack{
		Ports: r.Settings.Ports, Services: r.Services, Secrets: kept, BlobURL: r.Settings.BlobURL,
		MySQL:     roster.MySQL{Host: host, Port: port, User: config.User, Password: config.Passwd, Database: config.DBName},
		RedisAddr: or(r.Settings.RedisAddr, r.Settings.Ports.Addr(ports.Redis)),
		MongoURI:  or(r.Settings.MongoURI, "mongodb://"+r.Settings.Ports.Addr(ports.Mongo)+"/"), MongoDatabase: database,
	}
	if r.Settings.Seed == settings.SeedDemo {
		r.stack.DemoFile = filepath.Join(r.Settings.Dir, "demo.json")
	}
	if r.Settings.Traces {
		r.stack.TraceCollector = r.Settings.Ports.Addr(ports.TraceCollector)
	}
	r.describePipeline()
	return nil
}

// mysqlConfig returns the server of LAB_MYSQL_DSN, or the stack's own. The database is "lab" unless the DSN names one.
func (r *running) mysqlConfig() (*mysql.Config, error) {
	if r.Settings.MySQLDSN == "" {
		config := mysql.NewConfig()
		config.User, config.Net, config.Addr, config.DBName = "root", "tcp", r.Settings.Ports.Addr(ports.MySQL), database
		return config, nil
	}
	config, err := mysql.ParseDSN(r.Settings.MySQLDSN)
	if err != nil {
		return nil, fmt.Errorf("LAB_MYSQL_DSN: %w", err)
	}
	config.DBName = or(config.DBName, database)
	return config, nil
}

func or(value, fallback string) string {
	if value != "" {
		return value
	}
	return fallback
}

// prepareStores starts the engines and creates the database with the tables that no service migrates.
func (r *running) prepareStores(ctx context.Context) error {
	wanted, err := r.ownEngines()
	if err != nil {
		return err
	}
	if len(wanted) > 0 {
		fmt.Fprintf(r.Out, "starting %s\n", strings.Join(names(wanted), ", "))
	}
	r.engines, err = engines.StartAll(ctx, r.spawner, wanted)
	if err != nil {
		return err
	}
	if r.Settings.RedisAddr != "" && !engines.RedisKeepsEverything(ctx, r.stack.RedisAddr) {
		r.stack.FastQueue = true
		fmt.Fprintln(
			r.Out,
			"the Redis of LAB_REDIS_ADDR lacks appendfsync always or noeviction: the task queue runs with TASKQUEUE_PROFILE=fast",
		)
	}
	if err := os.MkdirAll(r.Settings.Objects(), 0o755); err != nil {
		return fmt.Errorf("object store: %w", err)
	}
	return r.createDatabase(ctx)
}

func (r *running) place(name string, port ports.Name) engines.Place {
	return engines.Place{Data: r.Settings.Data(name), Log: r.Settings.Log(name), Port: r.Settings.Ports.Port(port)}
}

// relationalPlace returns the place of the database server. MariaDB and MySQL have separate data directories, because
// neither can read the other's files.
func (r *running) relationalPlace() engines.Place {
	place := r.place("mysql", ports.MySQL)
	if r.Settings.RealMySQL {
		place.Data = r.Settings.Data("mysqld")
	}
	return place
}

func (r *running) ownEngines() ([]engines.Engine, error) {
	var wanted []engines.Engine
	if r.Settings.MySQLDSN == "" {
		engine, err := engines.Relational(install.WantedBy(r.Settings), r.relationalPlace(), engines.Durable)
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, engine)
	}
	if r.Settings.RedisAddr == "" {
		engine, err := engines.Redis(r.place("redis", ports.Redis))
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, engine)
	}
	if r.Settings.MongoURI == "" {
		wanted = append(wanted, engines.DocumentStore(r.place("mongo", ports.Mongo), r.Binary))
	}
	return append(wanted, r.ownPipeline()...), nil
}

// listeners returns the ports that this stack will open.
func (r *running) listeners() []ports.Name {
	var all []ports.Name
	if r.Settings.MySQLDSN == "" {
		all = append(all, ports.MySQL)
	}
	if r.Settings.RedisAddr == "" {
		all = append(all, ports.Redis)
	}
	if r.Settings.MongoURI == "" {
		all = append(all, ports.Mongo)
	}
	if r.Settings.Traces {
		all = append(all, ports.TraceCollector, ports.TraceViewer)
	}
	all = append(all, r.pipelineListeners()...)
	for _, service := range r.Services {
		all = append(all, service.Listeners()...)
	}
	return all
}

func names(wanted []engines.Engine) []string {
	var list []string
	for _, first := range wanted {
		for engine := &first; engine != nil; engine = engine.Then {
			list = append(list, engine.Spec.Name)
		}
	}
	return list
}

func (r *running) createDatabase(ctx context.Context) error {
	config, err := mysql.ParseDSN(r.target)
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	name := config.DBName
	config.DBName = ""
	if err := execute(ctx, config, func(db *sql.DB) error {
		_, err := db.ExecContext(
			ctx,
			"CREATE DATABASE IF NOT EXISTS `"+name+"` CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
		)
		return err
	}); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	config.DBName = name
	return execute(ctx, config, func(db *sql.DB) error { return r.createTables(ctx, db) })
}

// createTables creates the platform's tables, which no service migrates, and those of cdc when change capture is off.
// So a fixture can fill every table.
func (r *running) createTables(ctx context.Context, db *sql.DB) error {
	if err := legacydb.Create(ctx, db); err != nil {
		return err
	}
	if r.Settings.Pipeline {
		return nil
	}
	return mysqldb.Migrate(ctx, db, migrations.Schemas(), slog.New(slog.DiscardHandler))
}

func execute(ctx context.Context, config *mysql.Config, do func(*sql.DB) error) error {
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	if err := db.PingContext(ctx); err != nil {
		return err
	}
	return do(db)
}
