/** The strict vendors by the name of their provider: each refuses what the vendor refuses. */
import { anthropic } from './anthropic.ts'
import { azure_openai } from './azure_openai.ts'
import { bedrock } from './bedrock.ts'
import { cohere } from './cohere.ts'
import { gemini } from './gemini.ts'
import { llamacpp } from './llamacpp.ts'
import { mistral } from './mistral.ts'
import { ollama } from './ollama.ts'
import { deepseek, openai } from './openai.ts'
import { type Checker, type Complaint, Complaints, type Sent } from './rules/contract.ts'
import { sglang } from './sglang.ts'
import { tgi } from './tgi.ts'
import { triton } from './triton.ts'
import { vllm } from './vllm.ts'

export const VENDORS = {
  vllm,
  sglang,
  tgi,
  ollama,
  llamacpp,
  triton,
  openai,
  deepseek,
  azure_openai,
  anthropic,
  gemini,
  bedrock,
  mistral,
  cohere,
} satisfies Readonly<Record<string, Checker>>

export type Vendor = keyof typeof VENDORS

export function complaintsOf(vendor: Vendor, sent: Sent): readonly Complaint[] {
  const complaints = new Complaints()
  VENDORS[vendor](sent, complaints)
  return complaints.list
}
