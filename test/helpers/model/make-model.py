"""Writes a tiny Llama whose answers are known in advance, as one GGUF file; nothing is trained.

Embeddings are one-hot, attention and feed-forward add zero to them, so the logits after a token
are one column of the output matrix: the model is a table from the last token to the next one.
A real server with this model therefore says exactly what a test expects:

  script  any prompt      w001 w002 ... w064 and an emoji of four tokens, then the end
          with tools      the call get_weather({"city": "Paris"}), then the end
          a tool's result words again, so that an agent's loop ends
  loop    any prompt      w001 w002 ... w064 w001 ... without an end

With --folder it writes the same model as a folder of Hugging Face's.
"""

import argparse
import json
import os

import numpy
from gguf import GGUFWriter, TokenType
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

BEGIN, START, END, TOOLS = "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|tools|>"
WORDS = [f"w{number:03d} " for number in range(1, 65)]
EMOJI = "😀"
CALL = [
    "<tool_call>", '\n{"name": ', '"get_weather"',
    ', "arguments": ', '{"city": ', '"Paris"', "}}\n", "</tool_call>",
]
SAMPLES = [
    "The quick brown fox jumps over the lazy dog. Hello world, how is the weather in Paris today?",
    "You are a helpful assistant. Answer the question of the user in one short sentence, please.",
    '{"name": "get_weather", "arguments": {"city": "Paris"}}',
]

TEMPLATE = """{%- if tools %}<|im_start|>system
<tools>{%- for tool in tools %}{{ tool | tojson }}{%- endfor %}</tools><|im_end|>
{% endif %}{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}
{%- elif message.content %}{% for part in message.content %}{{ part.text }}{% endfor %}{% endif %}
{%- if message.tool_calls %}{% for call in message.tool_calls %}<tool_call>
{{ call.function | tojson }}
</tool_call>{% endfor %}{% endif %}<|im_end|>
{% endfor %}{%- if add_generation_prompt %}<|im_start|>assistant
{% if tools and messages[-1].role != 'tool' %}<|tools|>{% endif %}{% endif %}"""

CONTEXT_MAX = 32768  # What the server allows is its own, smaller number.
HEAD_SIZE = 64
LOGIT = 20.0  # Against zero everywhere else: a probability above 0.999 at any temperature in use.


def train_tokenizer():
    """A byte-level tokenizer with enough merges that English costs fewer tokens than bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=420, min_frequency=2, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.train_from_iterator(SAMPLES * 4, trainer)
    tokenizer.add_special_tokens([BEGIN, START, END, TOOLS])
    tokenizer.add_tokens(WORDS + CALL)
    return tokenizer


def successors(tokenizer, loop):
    """For every token the one that follows it; the first word follows whatever has no script."""
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    emoji_bytes = list(byte_level.pre_tokenize_str(EMOJI)[0][0])
    answer = WORDS + WORDS[:1] if loop else [*WORDS, *emoji_bytes, END]
    following = numpy.full(tokenizer.get_vocab_size(), tokenizer.token_to_id(WORDS[0]))
    for script in (answer, [TOOLS, *CALL, END], [END, END]):
        ids = [tokenizer.token_to_id(token) for token in script]
        following[ids[:-1]] = ids[1:]
    return following


def add_tensors(writer, following, layers, feed_forward_size):
    size = len(following)
    output = numpy.zeros((size, size), numpy.float16)
    # The normalisation before the output scales a one-hot vector by the root of its length.
    output[following, numpy.arange(size)] = LOGIT / numpy.sqrt(size)
    writer.add_tensor("token_embd.weight", numpy.eye(size, dtype=numpy.float16))
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", numpy.ones(size, numpy.float32))
    shapes = {
        "attn_q": (HEAD_SIZE, size), "attn_k": (HEAD_SIZE, size), "attn_v": (HEAD_SIZE, size),
        "attn_output": (size, HEAD_SIZE), "ffn_gate": (feed_forward_size, size),
        "ffn_up": (feed_forward_size, size), "ffn_down": (size, feed_forward_size),
    }
    for layer in range(layers):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", numpy.ones(size, numpy.float32))
        for name, shape in shapes.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", numpy.zeros(shape, numpy.float16))


def add_vocabulary(writer, tokenizer):
    tokens = [tokenizer.id_to_token(index) for index in range(tokenizer.get_vocab_size())]
    kinds = dict.fromkeys(WORDS + CALL, TokenType.USER_DEFINED)
    kinds |= dict.fromkeys([BEGIN, START, END, TOOLS], TokenType.CONTROL)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([kinds.get(token, TokenType.NORMAL) for token in tokens])
    # Only the serialized form of a tokenizer shows its merges.
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(tokenizer.token_to_id(BEGIN))
    writer.add_eos_token_id(tokenizer.token_to_id(END))
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def add_parameters(writer, size, layers, feed_forward_size):
    writer.add_vocab_size(size)
    writer.add_embedding_length(size)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(feed_forward_size)
    writer.add_context_length(CONTEXT_MAX)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    for add in (writer.add_key_length, writer.add_value_length, writer.add_rope_dimension_count):
        add(HEAD_SIZE)
    writer.add_layer_norm_rms_eps(1e-6)


def write_model(options):
    tokenizer = train_tokenizer()
    tokenizer.save(os.path.join(os.path.dirname(options.file), "tokenizer.json"))
    following = successors(tokenizer, options.loop)
    layers = 1 + options.slow
    feed_forward_size = 8192 if options.slow else HEAD_SIZE
    writer = GGUFWriter(options.file, "llama")
    add_parameters(writer, len(following), layers, feed_forward_size)
    add_vocabulary(writer, tokenizer)
    add_tensors(writer, following, layers, feed_forward_size)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_folder(options):
    """The same tables by the names that transformers gives them; a matrix has its output first, as in GGUF."""
    tokenizer = train_tokenizer()
    following = successors(tokenizer, options.loop)
    size = len(following)
    half = numpy.float16
    output = numpy.zeros((size, size), half)
    output[following, numpy.arange(size)] = LOGIT / numpy.sqrt(size)
    layer = "model.layers.0."
    tensors = {
        "model.embed_tokens.weight": numpy.eye(size, dtype=half), "lm_head.weight": output,
        "model.norm.weight": numpy.ones(size, half),
        layer + "input_layernorm.weight": numpy.ones(size, half),
        layer + "post_attention_layernorm.weight": numpy.ones(size, half),
    }
    for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "mlp.gate_proj", "mlp.up_proj"):
        tensors[f"{layer}{name}.weight"] = numpy.zeros((HEAD_SIZE, size), half)
    for name in ("self_attn.o_proj", "mlp.down_proj"):
        tensors[f"{layer}{name}.weight"] = numpy.zeros((size, HEAD_SIZE), half)
    os.makedirs(options.file)
    save_file(tensors, os.path.join(options.file, "model.safetensors"), metadata={"format": "pt"})
    tokenizer.save(os.path.join(options.file, "tokenizer.json"))
    ends = {"bos_token_id": tokenizer.token_to_id(BEGIN), "eos_token_id": tokenizer.token_to_id(END)}
    write_json(options.file, "config.json", {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": size,
        "hidden_size": size, "intermediate_size": HEAD_SIZE, "num_hidden_layers": 1,
        "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": HEAD_SIZE,
        "max_position_embeddings": CONTEXT_MAX, "rms_norm_eps": 1e-6, "hidden_act": "silu",
        "tie_word_embeddings": False, "torch_dtype": "float16", **ends})
    write_json(options.file, "generation_config.json", {"do_sample": False, **ends})
    write_json(options.file, "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": BEGIN, "eos_token": END,
        "pad_token": BEGIN, "model_max_length": CONTEXT_MAX, "chat_template": TEMPLATE})


def write_json(folder, name, content):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump(content, file)


def read_options():
    parser = argparse.ArgumentParser(description="Write a tiny model whose answers are scripted.")
    parser.add_argument("file", help="the GGUF file to write, or the folder")
    parser.add_argument("--folder", action="store_true", help="write a folder for transformers")
    parser.add_argument("--loop", action="store_true", help="answer without an end")
    parser.add_argument("--slow", type=int, default=0, metavar="LAYERS",
                        help="layers of zeros, 25 MB and a few milliseconds per token each")
    return parser.parse_args()


chosen = read_options()
(write_folder if chosen.folder else write_model)(chosen)
