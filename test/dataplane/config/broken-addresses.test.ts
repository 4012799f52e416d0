/** Addresses, listeners and egress that cannot work. */
import { type Row, testRefusals } from './documents.ts'

function upstream(fields: string): string {
  return `  upstreams:\n    - name: a\n      model: m\n${fields.replace(/^/gm, '      ')}
    - {name: b, provider: openai, model: m, api_key: "\${env:KEY}"}\n`
}

function endpoint(name: string, address: string, says: string): Row {
  return {
    name: `an endpoint ${name}`,
    yaml: upstream(`provider: vllm\nendpoint: ${address} # here`),
    path: 'gw.upstreams[0].endpoint',
    says,
    fix: '',
  }
}

const ADDRESSES: Row[] = [
  endpoint('with a password', 'http://user:pass@host', 'user name or password'),
  endpoint('with a query', 'http://host/v1?a=b', 'query or fragment'),
  endpoint('that is an operation', 'http://host/v1/chat/completions', 'appends itself'),
  endpoint('of link-local range', 'http://169.254.1.1', 'link-local'),
  endpoint('of link-local range in hexadecimal', 'http://0xa9fea9fe', 'link-local'),
  endpoint('of link-local range in IPv6', '"http://[fe80::1]:80"', 'link-local'),
  endpoint('of link-local range mapped', '"http://[::ffff:169.254.169.254]"', 'link-local'),
  endpoint('of cloud metadata', 'http://metadata.google.internal', 'metadata'),
  endpoint('of the gateway itself', 'http://127.0.0.1:8080', "gateway's own"),
]

const LISTENERS: Row[] = [
  {
    name: 'one port for two listeners',
    yaml: '  gateway:\n    listen_port: 9090\n    metrics_port: 9090 # here',
    path: 'gw.gateway.metrics_port',
    says: 'port 9090 is also listen_port',
    fix: 'a different port',
  },
  {
    name: 'one port for clients and the admin API',
    yaml: '  gateway:\n    listen_port: 9091\n    admin_port: 9091 # here',
    path: 'gw.gateway.admin_port',
    says: 'port 9091 is also listen_port',
    fix: 'a different port',
  },
  {
    name: 'an address with a port',
    yaml: '  gateway:\n    listen_address: 0.0.0.0:80 # here',
    path: 'gw.gateway.listen_address',
    says: 'not an address',
    fix: '0.0.0.0',
  },
  {
    name: 'credentials for any origin',
    yaml: '  gateway:\n    cors:\n      allowed_origins: ["*"]\n      allow_credentials: true # here',
    path: 'gw.gateway.cors.allow_credentials',
    says: 'browsers refuse',
    fix: 'List the origins',
  },
  {
    name: 'an origin with a path',
    yaml: '  gateway:\n    cors:\n      allowed_origins: ["https://a.example/x"] # here',
    path: 'gw.gateway.cors.allowed_origins[0]',
    says: 'not an origin',
    fix: 'without a path',
  },
  {
    name: 'heartbeats slower than the load balancer',
    yaml: '  gateway:\n    load_balancer_idle_seconds: 10\n    sse: {heartbeat_seconds: 15} # here',
    path: 'gw.gateway.sse.heartbeat_seconds',
    says: 'come too late',
    fix: 'less than 10',
  },
  {
    name: 'keep-alive shorter than the load balancer',
    yaml: '  gateway:\n    load_balancer_idle_seconds: 75\n    keepalive_seconds: 75 # here',
    path: 'gw.gateway.keepalive_seconds',
    says: 'must exceed load_balancer_idle_seconds',
    fix: 'more than 75',
  },
  {
    name: 'a client certificate without its key',
    yaml: '  tls:\n    client_cert_path: /a.pem # here',
    path: 'gw.tls.client_cert_path',
    says: 'without client_key_path',
    fix: 'Add client_key_path',
  },
  {
    name: 'TLS settings for a plain endpoint',
    yaml: upstream('provider: vllm\nendpoint: http://a\ntls: {min_version: 1.3} # here'),
    path: 'gw.upstreams[0].tls',
    says: 'the endpoint is http://',
    fix: 'https://',
  },
  {
    name: 'a bypass without a proxy',
    yaml: '  no_proxy: localhost # here',
    path: 'gw.no_proxy',
    says: 'there is no http_proxy',
    fix: 'Remove it',
  },
  {
    name: 'a bypass that is a URL',
    yaml: '  http_proxy: http://p:1\n  no_proxy: [a, "http://b"] # here',
    path: 'gw.no_proxy[1]',
    says: 'no host, address or range',
    fix: '.suffix',
  },
  {
    name: 'a header of the connection',
    yaml: upstream('provider: vllm\nendpoint: http://a\nheaders:\n  Host: b # here'),
    path: 'gw.upstreams[0].headers.Host',
    says: 'set by the gateway itself',
    fix: 'Remove it',
  },
  {
    name: 'a credential given twice',
    yaml: upstream(
      'provider: openai\napi_key: ${env:KEY}\nheaders:\n  authorization: ${env:KEY} # here',
    ),
    path: 'gw.upstreams[0].headers.authorization',
    says: 'contradicts api_key',
    fix: 'Remove the header',
  },
]

testRefusals(ADDRESSES)
testRefusals(LISTENERS)
