// Package endpoints reads and writes endpoints.json: the addresses of a running stack, and how to start each part
// again. The file exists only while the whole stack is ready.
package endpoints

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is the name of the file inside LAB_DIR.
const File = "endpoints.json"

// ErrNotRunning means that LAB_DIR holds no endpoints.json.
var ErrNotRunning = errors.New("no stack runs here")

// Endpoints is the content of endpoints.json. The maps are keyed by service or engine name.
type Endpoints struct {
	Gateway              string            `json:"gateway"`
	GatewayInternal      string            `json:"gateway_internal"`
	Search               string            `json:"search,omitempty"`
	CDC                  string            `json:"cdc,omitempty"`
	Connector            string            `json:"connector,omitempty"`
	TaskqueueOutbox      string            `json:"taskqueue_outbox"`
	TaskqueueAdminPage   string            `json:"taskqueue_admin_page"`
	MySQLDSN             string            `json:"mysql_dsn"`
	RedisAddr            string            `json:"redis_addr"`
	MongoURI             string            `json:"mongo_uri"`
	MongoDatabase        string            `json:"mongo_database"`
	KafkaBrokers         []string          `json:"kafka_brokers,omitempty"`
	TopicPrefix          string            `json:"topic_prefix,omitempty"`
	Elasticsearch        string            `json:"elasticsearch,omitempty"`
	BlobURL              string            `json:"blob_url"`
	InternalTokenCommand []string          `json:"internal_token_command"`
	JWTSecrets           JWTSecrets        `json:"jwt_secrets"`
	GRPC                 map[string]string `json:"grpc"`

	PIDs     map[string]int               `json:"pids"`
	Commands map[string][]string          `json:"commands"`
	Environ  map[string]map[string]string `json:"environ"`
}

// JWTSecrets are the secrets of the three kinds of user token.
type JWTSecrets struct {
	Mobile    string `json:"mobile"`
	Legacy    string `json:"legacy"`
	Ephemeral string `json:"ephemeral"`
}

// Read returns the endpoints of the stack in labDir, or ErrNotRunning.
func Read(labDir string) (Endpoints, error) {
	path := filepath.Join(labDir, File)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Endpoints{}, fmt.Errorf("%s is absent: %w (start it with make stack-up)", path, ErrNotRunning)
	}
	if err != nil {
		return Endpoints{}, fmt.Errorf("read endpoints: %w", err)
	}
	var e Endpoints
	if err := json.Unmarshal(text, &e); err != nil {
		return Endpoints{}, fmt.Errorf("read %s: %w", path, err)
	}
	return e, nil
}

// Write replaces the file atomically. It holds secrets, so only its owner may read it.
func Write(labDir string, e Endpoints) error {
	text, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	path := filepath.Join(labDir, File)
	if err := os.WriteFile(path+".tmp", append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	return os.Rename(path+".tmp", path)
}

// Remove deletes the file; a missing file is ignored.
func Remove(labDir string) error {
	if err := os.Remove(filepath.Join(labDir, File)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove endpoints: %w", err)
	}
	return nil
}
