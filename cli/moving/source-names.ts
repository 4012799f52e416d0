/** The gateways whose configurations the tool reads. */
export const SOURCE_NAMES = [
  'litellm',
  'agentgateway',
  'envoy-ai-gateway',
  'bifrost',
  'portkey',
] as const
export type SourceName = (typeof SOURCE_NAMES)[number]
