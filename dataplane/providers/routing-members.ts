/** Members that no client may set at any upstream. */

/**
 * A proxy at an upstream's address would obey these, but a client must not choose hosts or
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
 * Members that change the runtime: its queue, ids of other requests, caches, other servers, code, a second number of
 * choices. Any runtime may serve an upstream that is configured as OpenAI's, so such an upstream refuses them.
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
