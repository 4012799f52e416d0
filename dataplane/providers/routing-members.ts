/** Members of a request that no client may set at any upstream. */

/**
 * Proxies behind an upstream's name would obey these: a client must not choose hosts or
 * credentials.
 */
export const ROUTING: ReadonlySet<string> = new Set([
  'api_base',
  'base_url',
  'api_key',
  'extra_headers',
  'organization',
])

/**
 * Members that reach into a runtime: its queue, ids of others' requests, caches, other servers, code, a second number of
 * choices. Behind an upstream that is configured as OpenAI's they are refused, because it may be any runtime.
 */
export const OF_RUNTIMES: readonly string[] = [
  'bootstrap_host',
  'bootstrap_port',
  'bootstrap_room',
  'custom_logit_processor',
  'data_parallel_rank',
  'id_slot',
  'kv_transfer_params',
  'lora',
  'lora_path',
  'n_cmpl',
  'n_predict',
  'priority',
  'prompt_embeds',
  'request_id',
  'rid',
  'session_params',
]
