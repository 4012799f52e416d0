/** The address of Bedrock, and the names of its models. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointIn, segmentOf } from '../../../../dataplane/providers/bedrock/aws/endpoint.ts'
import { namedIn } from '../../../../dataplane/providers/bedrock/model-name.ts'
import { bedrock } from '../../../../dataplane/providers/bedrock/provider.ts'
import { knownWindow } from '../../../../dataplane/providers/facts-of-models.ts'
import { aRequest, chatWith, someSettings } from '../../../helpers/providers/a-request.ts'

test('a region has a host in the domain of its partition', () => {
  const host = (region: string) => `https://bedrock-runtime.${region}`
  assert.equal(endpointIn('eu-west-1'), `${host('eu-west-1')}.amazonaws.com`)
  assert.equal(endpointIn('us-gov-west-1'), `${host('us-gov-west-1')}.amazonaws.com`)
  assert.equal(endpointIn('cn-north-1'), `${host('cn-north-1')}.amazonaws.com.cn`)
  assert.equal(endpointIn('eusc-de-east-1'), `${host('eusc-de-east-1')}.amazonaws.eu`)
})

test('the model is one segment of the path', () => {
  assert.equal(segmentOf('a.b-v1:0'), 'a.b-v1%3A0')
  assert.equal(segmentOf('..'), '%2E%2E')
  assert.equal(segmentOf("a/b c!'()*"), 'a%2Fb%20c%21%27%28%29%2A')
  const model = 'arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.amazon.nova-lite-v1:0'
  const path = (stream: boolean) =>
    chatWith(bedrock).encode(aRequest({ stream }), someSettings({ model }), undefined).path
  const segment =
    'arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Ainference-profile%2Fus.amazon.nova-lite-v1%3A0'
  assert.equal(path(false), `/model/${segment}/converse`)
  assert.equal(path(true), `/model/${segment}/converse-stream`)
})

test('the id of a model has a maker and a name', () => {
  const cases = {
    'anthropic.claude-3-haiku-20240307-v1:0': ['anthropic', 'claude-3-haiku-20240307'],
    'global.anthropic.claude-opus-4-7': ['anthropic', 'claude-opus-4-7'],
    'anthropic.claude-3-sonnet-20240229-v1:0:200k': ['anthropic', 'claude-3-sonnet-20240229'],
    'us.amazon.nova-pro-v1:0': ['amazon', 'nova-pro'],
    'arn:aws:bedrock:eu-west-1:1:inference-profile/eu.amazon.nova-lite-v1:0': [
      'amazon',
      'nova-lite',
    ],
    'openai.gpt-oss-120b-1:0': ['openai', 'gpt-oss-120b-1'],
    'minimax.m2.5': ['minimax', 'm2.5'],
    'arn:aws:bedrock:eu-west-1:1:application-inference-profile/abc123': ['', 'abc123'],
  }
  for (const [id, [maker, name]] of Object.entries(cases)) {
    assert.deepEqual(namedIn(id), { maker, name }, id)
  }
})

test('the windows of its models are known under the names of their makers', () => {
  const window = (model: string) => knownWindow({ provider: 'bedrock', model })
  assert.equal(window('us.anthropic.claude-sonnet-4-5-20250929-v1:0'), 200_000)
  assert.equal(window('amazon.nova-pro-v1:0'), 300_000)
  assert.equal(window('meta.llama3-1-70b-instruct-v1:0'), 128_000)
  assert.equal(window('arn:aws:bedrock:eu-west-1:1:application-inference-profile/abc'), undefined)
})
