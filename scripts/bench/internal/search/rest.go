package search

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/labplatform/labplatform/services/search/inprocess"
)

const usersEach = 5 // users of a laboratory

// rest measures the same searches through the service's own REST port: several users of every laboratory, each with a
// token.
func (b *bench) rest(ctx context.Context) error {
	if _, err := closed(ctx, b.mix.draw(warmSeed, lap), b.sizes.window, b.remote.ask); err != nil {
		return err
	}
	var p50s, p99s []float64
	for round := range b.sizes.rounds {
		taken, err := atRate(
			ctx,
			b.mix.draw(uint64(1+round), int(b.sizes.span.Seconds()*ratePerSecond)),
			ratePerSecond,
			b.remote.ask,
		)
		if err != nil {
			return err
		}
		p50s, p99s = append(p50s, quantile(taken, 50)), append(p99s, quantile(taken, 99))
	}
	b.report.Lower("rest_p50_ms", "ms", p50s, "", nil)
	b.report.Lower("rest_p99_ms", "ms", p99s, "", nil)
	return nil
}

func (b *bench) throughREST() (finder, error) {
	tokens := map[int64][]string{}
	for n := range b.sizes.laboratories {
		lab := int64(firstLaboratory + n)
		for user := range usersEach {
			token, err := b.token(lab, user)
			if err != nil {
				return nil, err
			}
			tokens[lab] = append(tokens[lab], token)
		}
	}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	address := b.sandbox.Endpoints.Search + "/api/v1/users/search"
	return func(ctx context.Context, labID int64, text string) ([]inprocess.Hit, error) {
		return post(ctx, client, address, tokens[labID][len(text)%usersEach], text)
	}, nil
}

// token returns a token of a user's telephone app.
func (b *bench) token(lab int64, user int) (string, error) {
	now := time.Now()
	return jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"session_type": "lab_user",
		"lab_id":       lab,
		"lab_user_id":  lab*usersEach + int64(user),
		"username":     "bench",
		"iat":          now.Unix(),
		"exp":          now.Add(time.Hour).Unix(),
	}).SignedString([]byte(b.sandbox.Endpoints.JWTSecrets.Mobile))
}

func post(ctx context.Context, client *http.Client, address, token, text string) ([]inprocess.Hit, error) {
	body, err := json.Marshal(map[string]string{"query": text})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusGatewayTimeout {
		return nil, context.DeadlineExceeded
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %.200s", response.Status, content)
	}
	var answer struct {
		Results []struct {
			UserID int64 `json:"user_id"`
			LabID  int64 `json:"lab_id"`
		}
	}
	err = json.Unmarshal(content, &answer)
	var hits []inprocess.Hit
	for _, h := range answer.Results {
		hits = append(hits, inprocess.Hit(h))
	}
	return hits, err
}
