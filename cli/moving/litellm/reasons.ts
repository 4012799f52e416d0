/** LiteLLM's settings without a place, with the reason or what to use instead. */

const CACHE = 'gw keeps no answers; prompt caches of the providers are used'
const KEYS = 'gw has no database: `gw keys import litellm` takes its keys'
const LOG = 'gw writes one line of JSON for each request'
const IDENTITY = 'gw takes tokens of issuers: see auth.jwt'
const TRACES = 'gw sends traces to a collector: set telemetry.otlp_endpoint'
const NO_MCP = 'gw serves no tools'

export const REASONS: Readonly<Record<string, string>> = {
  include: 'import each file',
  environment_variables: 'set these variables where gw runs',
  guardrails: 'gw asks sidecars: see guardrails, with protocol litellm for a generic one',
  mcp_servers: NO_MCP,
  mcp_tools: NO_MCP,
  finetune_settings: 'gw serves no fine-tuning',
  files_settings: 'gw serves no files',
  vector_store_registry: 'gw searches stores by itself: see retrieval',
  'litellm_settings.cache': CACHE,
  'litellm_settings.cache_params': CACHE,
  'litellm_settings.set_verbose': LOG,
  'litellm_settings.json_logs': LOG,
  'litellm_settings.telemetry': 'gw sends nothing to its makers',
  'litellm_settings.turn_off_message_logging': 'gw never logs texts',
  'litellm_settings.langfuse_default_tags': TRACES,
  'litellm_settings.default_team_settings': TRACES,
  'litellm_settings.mcp_aliases': NO_MCP,
  'litellm_settings.ssl_verify': 'gw verifies certificates; tls.ca_bundle_path adds authorities',
  'router_settings.retry_policy': 'gw has one number of attempts for a route',
  'router_settings.allowed_fails_policy': 'gw has one threshold for an upstream',
  'router_settings.disable_cooldowns': 'gw always rests an upstream that fails',
  'router_settings.cache_responses': CACHE,
  'general_settings.master_key': 'its value is not in the file: create a key with `gw keys create`',
  'general_settings.database_url': KEYS,
  'general_settings.store_model_in_db': KEYS,
  'general_settings.database_connection_pool_limit': KEYS,
  'general_settings.allow_requests_on_db_unavailable': KEYS,
  'general_settings.alerting': 'gw posts alerts as JSON: see alerts.webhook_url',
  'general_settings.alerting_threshold': 'gw has objectives: see slo',
  'general_settings.enable_jwt_auth': IDENTITY,
  'general_settings.litellm_jwtauth': IDENTITY,
  'general_settings.custom_auth': IDENTITY,
  'general_settings.pass_through_endpoints': 'gw serves the APIs of models only',
  'general_settings.background_health_checks': 'gw probes runtimes by itself: see health_check',
  'general_settings.health_check_interval': 'gw probes runtimes by itself: see health_check',
  'general_settings.max_parallel_requests': 'a limit of an upstream: see max_queue_depth',
}
