// Go's own HTTP client, by chat completions.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

var args struct {
	URL  string            `json:"url"`
	Keys map[string]string `json:"keys"`
}

func post(ctx context.Context, key string, body object) (*http.Response, error) {
	text, _ := json.Marshal(body)
	for {
		request, _ := http.NewRequestWithContext(ctx, "POST", args.URL+"/v1/chat/completions", bytes.NewReader(text))
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(request)
		if err != nil || answer.StatusCode != 429 {
			return answer, err
		}
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		answer.Body.Close()
		time.Sleep(time.Duration(seconds) * time.Second)
	}
}

func question(model string) object {
	return object{"model": model, "messages": []object{{"role": "user", "content": "hi"}}}
}

func ask(key, model string, more object) object {
	body := question(model)
	for name, value := range more {
		body[name] = value
	}
	answer, err := post(context.Background(), key, body)
	if err != nil {
		return object{"error": err.Error()}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		return object{"error": fmt.Sprintf("%v %.200s", err, text), "status": answer.StatusCode}
	}
	var whole struct {
		Choices []struct{ Message struct{ Content string } }
	}
	json.Unmarshal(text, &whole)
	return object{"text": whole.Choices[0].Message.Content}
}

func stream(key, model string, leave bool) object {
	body := question(model)
	body["stream"] = true
	body["stream_options"] = object{"include_usage": true}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answer, err := post(ctx, key, body)
	if err != nil {
		return object{"error": err.Error()}
	}
	text, usage := "", 0
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		var event struct {
			Choices []struct{ Delta struct{ Content string } }
			Usage   struct {
				Total int `json:"total_tokens"`
			}
			Error any
		}
		if !found || json.Unmarshal([]byte(data), &event) != nil {
			continue
		}
		if event.Error != nil {
			return object{"error": fmt.Sprint(event.Error)}
		}
		for _, choice := range event.Choices {
			text += choice.Delta.Content
		}
		usage += event.Usage.Total
		if leave {
			return object{"at": time.Now().UnixMilli()}
		}
	}
	if lines.Err() != nil {
		return object{"error": lines.Err().Error()}
	}
	return object{"text": text, "usage": usage}
}

func main() {
	json.Unmarshal([]byte(os.Args[1]), &args)
	keys := args.Keys
	ask(keys["spent"], "plain", nil)
	ask(keys["busy"], "plain", nil)
	seen := object{
		"whole":   ask(keys["whole"], "plain", nil),
		"stream":  stream(keys["stream"], "plain", false),
		"bad":     ask(keys["bad"], "bad", nil),
		"unknown": ask(keys["unknown"], "plain", nil),
		"spent":   ask(keys["spent"], "plain", nil),
		"scope":   ask(keys["scope"], "plain", nil),
		"missing": ask(keys["missing"], "nothing", nil),
		"busy":    ask(keys["busy"], "plain", nil),
		"cut":     stream(keys["cut"], "cut", false),
		"slow":    stream(keys["slow"], "slow", false),
		"leave":   stream(keys["leave"], "endless", true),
	}
	text, _ := json.Marshal(seen)
	fmt.Printf("\n%s\n", text)
	time.Sleep(200 * time.Millisecond)
}
