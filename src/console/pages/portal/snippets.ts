/** Receivers that verify a delivery, each with the Standard Webhooks library of its language. */
export const snippets: readonly { readonly name: string; readonly text: string }[] = [
  {
    name: "TypeScript",
    text: `// npm install standardwebhooks
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET!);
createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  try {
    const event = webhook.verify(body, request.headers as Record<string, string>);
    response.writeHead(204).end();
    console.log(event);
  } catch {
    response.writeHead(401).end();
  }
}).listen(3000);`,
  },
  {
    name: "Python",
    text: `# pip install standardwebhooks flask
import os
from flask import Flask, request
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

app = Flask(__name__)
webhook = Webhook(os.environ["WEBHOOK_SECRET"])

@app.post("/webhook")
def receive():
    try:
        event = webhook.verify(request.get_data(as_text=True), dict(request.headers))
    except WebhookVerificationError:
        return "", 401
    print(event)
    return "", 204`,
  },
  {
    name: "Go",
    text: `// go get github.com/standard-webhooks/standard-webhooks/libraries/go
package main

import (
	"io"
	"log"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("POST /webhook", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if webhook.Verify(body, r.Header) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		log.Printf("%s", body)
	})
	log.Fatal(http.ListenAndServe(":3000", nil))
}`,
  },
  {
    name: "PHP",
    text: `<?php
// composer require standard-webhooks/standard-webhooks
require "vendor/autoload.php";

$webhook = new \\StandardWebhooks\\Webhook(getenv("WEBHOOK_SECRET"));
$body = file_get_contents("php://input");
try {
    $event = $webhook->verify($body, array_change_key_case(getallheaders()));
    http_response_code(204);
    error_log(json_encode($event));
} catch (\\StandardWebhooks\\Exception\\WebhookVerificationException) {
    http_response_code(401);
}`,
  },
  {
    name: "Rust",
    text: `// cargo add standardwebhooks axum tokio --features tokio/full
use axum::{Router, http::{HeaderMap, StatusCode}, routing::post};
use standardwebhooks::Webhook;

async fn receive(headers: HeaderMap, body: String) -> StatusCode {
    let secret = std::env::var("WEBHOOK_SECRET").expect("WEBHOOK_SECRET");
    let webhook = Webhook::new(&secret).expect("a valid secret");
    match webhook.verify(body.as_bytes(), &headers) {
        Ok(()) => {
            println!("{body}");
            StatusCode::NO_CONTENT
        }
        Err(_) => StatusCode::UNAUTHORIZED,
    }
}

#[tokio::main]
async fn main() {
    let app = Router::new().route("/webhook", post(receive));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await.unwrap();
    axum::serve(listener, app).await.unwrap();
}`,
  },
];
