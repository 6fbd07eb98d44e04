#!/usr/bin/env python3
"""Small templates and what jinja2 makes of them, in the environment that transformers builds.

    python template_cases.py > template_cases.jsonl       (needs jinja2)

One object a line: source, and output, or error: true where jinja2 raises. All see the same CONTEXT (the first line).
"""
import glob
import json
import os

import jinja2
import jinja2.ext
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment

CONTEXT = {
    "s": "Hello, World", "u": "Türkçe 中文 😀é", "ws": "  \t padded\n\n", "empty": "", "n": 7, "neg": -7, "f": 2.5,
    "t": True, "no": False, "nil": None, "xs": [3, 1, 2], "words": ["pear", "Apple", "fig", "apple"],
    "d": {"b": 1, "a": [1, 2.0, "x", None, True], "items": "shadowed"}, "e": {}, "el": [],
    "msgs": [{"role": "system", "content": "S"}, {"role": "user", "content": "U1", "n": 2},
             {"role": "assistant", "content": None}, {"role": "user", "content": "U2", "n": 1}],
    "nested": {"x": {"y": [{"z": "deep"}]}}, "html": "<b>\"a\" & 'b'</b>", "lines": "one\n  two\n\nthree\r\nfour",
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "<think>no</think>\n Hi "},
                 {"role": "assistant", "content": "Yes.", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1.5}}}]},
                 {"role": "user", "content": [{"type": "text", "text": "One "}, {"type": "image"}, {"type": "text", "text": "two"}]}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "number"}}}}}],
    "add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>",
    "tree": [{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]}, {"v": 5, "c": []}],
}

EXPRESSIONS = r"""
1 + 2 * 3 - 4
7 // 2
-7 // 2
7 // -2
-7 % 3
7 % -3
7.5 // 2
-7.5 % 2
1 / 3
6 / 2
2 ** 10
2 ** -1
2 ** 3 ** 2
-2 ** 2
1 / 0
1 // 0
1 % 0
1.5 + 1
0.1 + 0.2
1e16
1e15
1e-5
0.0001
123456789012345680.0
1e22
1e300 * 1e10
-0.0
5e-324
1_000 + 0x1F + 0b101 + 0o17
3 - -3
+3
--3
- n
-f
-t
+t
t + t
t * 3
3 * 'ab'
'ab' * 0
'ab' * -1
[1, 2] * 2
(1, 2) + (3,)
[1] + (2,)
[1] + [2, [3]]
'a' + 'b'
'a' + 1
1 + 'a'
'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1, 'x'] ~ missing ~ 'b'
missing
missing + 1
1 + missing
'a' + missing
missing.x
missing['x']
missing()
missing[0:1]
missing|length
missing|default('dflt')
missing|upper
missing == missing2
missing == none
missing is defined
missing is none
missing and 1
missing or 'z'
not missing
missing|list
missing|join
missing|tojson
missing < 1
'x' in missing
d.nope
d.nope.more
d['nope']
d.nope is defined
nested.x.y[0].z
nested['x']['y'][0]['z']
nested.x.y[5]
nested.x.y[5].z
nested.x.y['0']
nested.x.y.0.z
nil.x
nil.x.y
nil[0]
n.x
none
true
false
None
True
False
n
f
s
u
xs
d
e
el
()
(1,)
(1, 2)
1, 2
{'a': 1, "b": [1, {'c': none}]}
{1: 'x', 1.0: 'y', true: 'z'}
{'a': 1}['a']
{'a': 1}.a
{n: s}
{[1]: 2}
['it''s', "q\"q", 'a\nb', 'tab\t', '\x41\u00e9\U0001F600', '\\', '\d', 'both\'"']
'adjacent' ' literals'
'\x00\x7f\u200b\xad'|list
u|list
[u]
['\n\r\t\\']
n == 7
n == 7.0
n == t
1 == true
'1' == 1
none == none
xs == [3, 1, 2]
xs == (3, 1, 2)
(1, 2) == (1, 2)
{'a': 1, 'b': 2} == {'b': 2, 'a': 1}
d == d
1 < 2 < 3
3 > 2 > 2
1 < 2 > 1
'a' < 'b'
'a' < 1
none < 1
[1, 2] < [1, 3]
[1, 2] < [1]
(1, 2) >= (1, 2)
1 in xs
1 not in xs
'ell' in s
'' in s
1 in s
'b' in d
1 in d
none in xs
'z' not in 'abc'
1 in 5
1 in none
'y' in nested.x
not 1 == 2
not true or true
1 or 2
0 or 2
0 and 2
1 and 2
'' or none or 'x'
n if t else s
n if no else s
n if no
(n if no) is defined
1 if no else 2 if no else 3
1 if t else 2 if no else 3
not (1 if t else 0)
s[0]
s[-1]
s[100]
s[1:4]
s[:-1]
s[::-1]
s[::2]
s[-3:]
s[5:2]
s[5:2:-1]
s[0:100]
s[::0]
s['upper']()
s.nope
u[0]
u[7]
u[-1]
u[-2]
u[7:9]
u[::-1]
u|length
u[1:100:3]
xs[0]
xs[-1]
xs[3]
xs[-4]
xs[1:]
xs[::-1]
xs[none:none]
xs[-100:100]
xs[t]
xs[1.0]
xs['a']
xs[9223372036854775807]
xs[-9223372036854775807:]
d[1]
d[0:1]
n[0:1]
9223372036854775807
s.upper()
s.lower()
s.title()
'they\'re bill\'s x1y'.title()
s.capitalize()
s.swapcase()
ws.strip()
ws.lstrip()
ws.rstrip()
'xxaxx'.strip('x')
'abcba'.lstrip('ba')
'abcba'.rstrip('ab')
'\u3000\xa0x\u2003'.strip()
s.split()
s.split(',')
s.split(', ', 1)
'a b  c '.split()
'a b  c '.split(' ')
'a b  c '.split(none, 1)
'  a b  c '.rsplit(none, 1)
'a,b,c'.rsplit(',', 1)
'a,b,c'.split(sep=',', maxsplit=1)
''.split()
''.split(',')
'a'.split('')
'</think>'.split('</think>')[-1]
'a</think>b</think>c'.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n')
lines.splitlines()
lines.splitlines(true)
'a\n\nb\n'.splitlines()
'a\x0bb\x1cc\u2028d'.splitlines()
s.startswith('Hello')
s.startswith(('x', 'He'))
s.startswith('ello', 1)
s.endswith('World')
s.endswith('')
s.endswith(('a', 'd'))
s.startswith(['H'])
s.find('o')
s.find('o', 5)
s.rfind('o')
s.find('zz')
s.index('zz')
u.find('中')
s.count('l')
s.count('')
'aaaa'.count('aa')
s.replace('l', 'L')
s.replace('l', 'L', 1)
'abc'.replace('', '-')
'abc'.replace('', '-', 2)
''.replace('', 'x')
'aaa'.replace('a', '')
s.removeprefix('Hello')
s.removesuffix('World')
s.removesuffix('zzz')
', '.join(['a', 'b'])
', '.join([1])
''.join([])
'-'.join('abc')
'x'.ljust(3) ~ '|'
'x'.rjust(3, '.')
'x'.center(4, '.')
'xx'.center(5, '.')
'-42'.zfill(5)
'42'.zfill(1)
'a=b=c'.partition('=')
'a=b=c'.rpartition('=')
'abc'.partition('z')
'abc'.rpartition('z')
'abc'.isalpha()
'abc1'.isalnum()
'123'.isdigit()
'12.3'.isdigit()
''.isdigit()
' \t'.isspace()
'ABC'.isupper()
'aBC'.islower()
'é'.isascii()
'{} and {}'.format(1, 'x')
'{1} {0} {x}'.format('a', 'b', x=2)
'{{}} {a[b]}'.format(a={'b': 3})
'{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd')
'{:05d} {:+} {:x} {:#x} {:b} {:,}'.format(42, 7, 255, 255, 5, 1234567)
'{:.2f} {:8.3f} {:e} {:%} {:g}'.format(3.14159, 2.5, 12345.678, 0.25, 0.0001)
'{!r} {!s}'.format('x', 'y')
'{} {}'.format(1)
'%s is %d years, %.2f %5s|%-5s|%05d %x %r %%' % ('Bob', 42, 3.14159, 'r', 'l', 42, 255, 'q')
'%s' % s
'%s' % [1, 2]
'%s %s' % ('a',)
'%d' % 'x'
'%(a)s-%(b)d' % {'a': 1, 'b': 2}
'%+d % d %e %g' % (3, 4, 12345.678, 1e10)
'%s' % none
'%s'|format('x')
'%s-%s'|format('x', 1)
'%(k)s'|format(k=1)
s.encode is defined
xs.append
xs.append(1)
xs.append is defined
d.update({'z': 1})
d.pop('b')
d.__class__
s.__class__.__mro__
d.get('b')
d.get('zz')
d.get('zz', 'dflt')
d.get('a')[2]
d.items
d['items']
e.items()|list
d.items()|list
d.keys()|list
d.values()|list
d.keys()
d.items()|length
d.keys()[0]
'b' in d.keys()
d.keys()|join(',')
d.copy()
xs.index(2)
xs.index(9)
xs.count(1)
(1, 2, 1).count(1)
xs|length
xs|count
n|length
s|length
d|length
nil|length
xs|first
xs|last
el|first
el|last
el|first is defined
s|first
s|last
d|first
d|last
xs|map('string')|last
xs|sum
[0.5, 1]|sum
['a']|sum
msgs|sum('n')
[{'n': 1}, {'n': 4}]|sum(attribute='n')
[[1], [2]]|sum(start=[])
xs|min
xs|max
words|min
words|max
el|max
words|sort
words|sort(case_sensitive=true)
xs|sort(reverse=true)
xs|sort
msgs|sort(attribute='role')|map(attribute='content')|list
[{'a': 2, 'b': 1}, {'a': 1, 'b': 2}, {'a': 1, 'b': 1}]|sort(attribute='a,b')
[1, 'a']|sort
[[2, 'a'], [1, 'b']]|sort(attribute=0)
'hello'|sort
words|unique|list
words|unique(case_sensitive=true)|list
[1, 1.0, true, 2]|unique|list
words|join
words|join(', ')
[1, none, 2.5, true]|join('|')
msgs|join(',', attribute='role')
'abc'|join('-')
xs|reverse|list
xs|reverse
s|reverse
xs|list
s|list
d|list
n|list
xs|string
n|string
nil|string
f|string|length
s|upper
s|lower
n|upper
nil|trim
'hello wORLD'|capitalize
'foo bar-baz (qux) it\'s'|title
ws|trim
'xxaxx'|trim('x')
s|replace('o', '0')
s|replace('o', '0', 1)
n|replace('7', '8')
lines|indent
lines|indent(2)
lines|indent(2, true)
lines|indent(2, first=true, blank=true)
lines|indent('> ')
''|indent
n|indent
'foo bar baz qux'|truncate(9)
'foo bar baz qux'|truncate(9, true)
'foo bar baz qux'|truncate(11)
'foo bar baz qux'|truncate(11, false, '...', 0)
'foo bar-baz it\'s 42'|wordcount
'x'|center(5) ~ '|'
html|escape
html|e
html|safe
html|e|e
'<a>' + ('<b>'|safe)
('<b>'|safe) + '<a>'
('<b>'|safe) ~ '<a>'
('<b>'|safe)|upper
['<b>'|safe]
n|default(1)
no|default('x')
no|default('x', true)
''|default('x', boolean=true)
nil|default('x')
missing|d
missing|d(5)
'42'|int
' 42 '|int
'42.9'|int
'x'|int
'x'|int(-1)
'x'|int(default=5)
'0x1F'|int(base=16)
'1f'|int(0, 16)
nil|int
f|int
neg|int
t|int
'1_000'|int
'2.5'|float
'x'|float
'x'|float(1.5)
n|float
'1e3'|float
' inf '|float
neg|abs
(-2.5)|abs
-2.5|abs
s|abs
2.5|round
3.5|round
2.675|round(2)
42|round
42.55|round(1, 'floor')
42.51|round(1, 'ceil')
2.5|round|int
xs|batch(2)|list
xs|batch(2, 0)|list
[1, 2, 3, 4, 5]|slice(2)|list
[1, 2, 3, 4, 5]|slice(3, 'x')|list
d|dictsort
{'B': 1, 'a': 2, 'c': 0}|dictsort
{'B': 1, 'a': 2, 'c': 0}|dictsort(true)
{'B': 1, 'a': 2, 'c': 0}|dictsort(by='value')
{'B': 1, 'a': 2, 'c': 0}|dictsort(false, 'value', true)
xs|dictsort
d|items|list
missing|items|list
xs|items|list
msgs|map(attribute='role')|list
msgs|map(attribute='n', default=0)|list
msgs|map(attribute='content')|map('default', 'D', true)|list
words|map('upper')|join(',')
words|map('replace', 'p', 'P')|list
words|map('length')|list
[' a ', 'b ']|map('trim')|list
[[1, 2], [3]]|map('first')|list
nested.x.y|map(attribute='z')|list
[nested]|map(attribute='x.y.0.z')|list
msgs|selectattr('role', 'equalto', 'user')|map(attribute='content')|list
msgs|selectattr('role', '==', 'user')|list|length
msgs|selectattr('n')|list|length
msgs|selectattr('n', 'defined')|list|length
msgs|rejectattr('role', 'in', ['user', 'system'])|map(attribute='role')|join
msgs|rejectattr('content')|list|length
[0, 1, none, 2, '']|select|list
[0, 1, none, 2, '']|reject|list
[1, 2, 3, 4]|select('even')|list
[1, 2, 3, 4]|reject('divisibleby', 3)|list
[1, 2, 3, 4]|select('gt', 2)|list
['a', 1, none]|select('string')|list
nil|selectattr('x')|list
nil|map('upper')|list
(msgs|selectattr('role', 'equalto', 'nobody'))|length
(msgs|selectattr('role', 'equalto', 'user'))[0]
(msgs|selectattr('role', 'equalto', 'user')|first).content
msgs|selectattr('role', 'equalto', 'nobody') is true
true if msgs|selectattr('role', 'equalto', 'nobody') else false
msgs|groupby('role')|map('first')|list
msgs|groupby('role')|list|length
msgs|map('nofilter')|list
d|tojson
msgs|tojson
msgs|tojson(indent=2)
{'a': [], 'b': {}, 'c': [1]}|tojson(indent=4)
d|tojson(separators=(',', ':'))
{'b': 1, 'a': 2}|tojson(sort_keys=true)
u|tojson
u|tojson(ensure_ascii=true)
html|tojson
'\x00\x1f\x7f\u2028/'|tojson
'\x7f'|tojson(ensure_ascii=true)
[1.0, 1e20, 1e-7, 0.1, -0.0]|tojson
(1, (2,))|tojson
{1: 2, none: 3, true: 4, 1.5: 5}|tojson
none|tojson
range(3)|tojson
d.keys()|tojson
xs|tojson|safe
xs|tojson|length
n is number
t is number
f is float
n is float
n is integer
t is integer
t is boolean
s is string
n is string
d is mapping
xs is mapping
xs is sequence
s is sequence
d is sequence
n is sequence
nil is sequence
(1,) is sequence
xs|map('string') is sequence
range(3) is sequence
d.keys() is sequence
xs is iterable
s is iterable
n is iterable
d.items() is iterable
nil is none
nil is not none
missing is undefined
s is undefined
t is true
1 is true
no is false
0 is false
7 is odd
7 is even
7 is divisibleby 7
7 is divisibleby(3)
7 is eq 7
7 is equalto(8)
7 is ne 7
7 is lt 8
7 is le(7)
7 is gt 7
7 is ge 7
7 is greaterthan 3
7 is in xs
3 is in xs
3 is not in xs
'x' is in ['x']
none is sameas none
t is sameas true
1 is sameas true
'abc' is lower
'ABC' is upper
'aBc' is lower
range is callable
s is callable
s.upper is callable
not n is string
n is defined and n is number
n is not defined or t
s is string and s|length > 3
n is number is defined
n is nosuchtest
n|nosuchfilter
range(5)|list
range(2, 8, 3)|list
range(5, 0, -2)|list
range(0)|list
range(3)|length
range(3)[1]
range(3)[-1]
range(10)[2:4]|list
range(1000000)
range(1, 2, 0)
dict(a=1, b='x')
dict(d, c=3).c
dict([['a', 1], ('b', 2)])
dict(**{'x': 1})
namespace(a=1).a
namespace({'a': 1}, b=2).b
namespace().x
namespace(a=1)['a']
raise_exception('my words')
strftime_now('%Y-%m-%d')
strftime_now('%d %b %Y %B %A %a %H:%M:%S %I %p %j %y %%')
strftime_now('%-d %e %F %T %D %R %U %W %w %u %-m %-I %c %x %X')
s|upper|lower|title
(s|upper)[0:2]
s|replace('H', 'J')|lower == 'jello, world'
[1, 2, 3][1:]|first
'a' if 'x' in 'xyz' and not no else 'b'
1 if 'a' is string else 2
{'a': {'b': [1, 2, {'c': (1, 2)}]}}.a.b[2].c[1]
"x" "y" ~ 1
(1 + 2) * 3
1 + -1
2 * -3
a.b.c
[] or {} or 'none'
[[]] and 1
xs[0] if xs else 'empty'
0.1 * 3
1e3
100 // 0.3
7 // 2.0
10 % 3.5
True and False or True
9223372036854775807 - 1
-9223372036854775807 - 1
'a,b;c'|replace(',', ' ')|replace(';', ' ')
1 if true else
s|
[1, 2
{'a' 1}
1 +
* 3
a b
'unclosed
x is
""|tojson
'{"a": 1}'|tojson
lines|tojson
1 < 'a' < 2
u.upper()
u.lower()
'ß'.upper()
'İ'.lower()
'ΑΣ'.lower()
'straße ǆ ﬁ'.title()
'ÀÉÎ'.lower() ~ 'àéî'.upper()
'привет мир'|title
'Ω'.islower() ~ 'ω'.islower()
'é'.isalpha() ~ '中'.isalpha() ~ '😀'.isalpha() ~ '٣'.isdigit() ~ '²'.isdigit() ~ '²'.isdecimal() ~ '½'.isnumeric()
"""

TEMPLATES = [
    "plain text", "", "\n", "a\n", "a\n\n", "a\r\nb\r", "{{ s }}\n", "{{ s }}\n\n",
    "{# comment #}x", "{#- c -#}  x", "a  {#- c -#}  b", "a\n  {# c #}\n  b", "{# {{ x }} {% if %} #}", "{# open",
    "a {{- s -}} b", "a {{ s }} b", "a\n{{- s }}\n", "  {% if t %}x{% endif %}", "  {% if t %}\n  x\n  {% endif %}\n  y",
    "a\n  {%- if t %}\nx\n  {%- endif %}\ny", "{% if t -%}\n  x\n{%- endif %}", "  {%+ if t %}x{% endif %}",
    "{% if t +%}\nx{% endif %}", "a {% if t %}\n\nb{% endif %}", "\t{% if t %}x{% endif %}\t\n", "x {% if t %} y {% endif %} z",
    "{% raw %}{{ s }} {% if %}{% endraw %}", "{% raw -%}  {{ s }}  {%- endraw %} z", "a\n  {% raw %}\n b\n  {% endraw %}\n c",
    "{% raw %}x", "{{ '}}' }}", "{{ '{{' }}{{ \"%}\" }}", "{{ {'a': {'b': 1}} }}", "{{ {'a': {'b': 1}}.a.b}}", "{{{'a': 1}.a}}",
    "{{ s", "{% if t %}", "{% endif %}", "{% if t %}{% else %}{% else %}{% endif %}", "{% nosuch %}", "{% %}", "{{ }}", "{% if %}x{% endif %}",
    "{% if no %}a{% elif t %}b{% else %}c{% endif %}", "{% if no %}a{% elif no %}b{% else %}c{% endif %}", "{% if xs %}y{% endif %}",
    "{% if n > 5 and s.startswith('H') %}yes{% endif %}",
    "{% for x in xs %}{{ x }},{% endfor %}", "{% for x in [] %}x{% else %}none{% endfor %}", "{% for x in xs %}{{ x }}{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k in d %}{{ k }}{% endfor %}", "{% for c in 'héy' %}[{{ c }}]{% endfor %}",
    "{% for x in xs if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}", "{% for x in xs if x > 9 %}{{ x }}{% else %}E{% endfor %}",
    "{% for x in xs %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }} {% endfor %}",
    "{% for x in xs %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}", "{% for x in xs %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}",
    "{% for x in xs %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %}",
    "{% for x in xs %}{% for y in xs %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}",
    "{% for a, b in [[1, 2], (3, 4)] %}{{ a }}{{ b }}{% endfor %}", "{% for a, b in [[1, 2, 3]] %}{% endfor %}", "{% for a, (b, c) in [[1, [2, 3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
    "{% for x in n %}{% endfor %}", "{% for x in nil %}{% endfor %}", "{% for x in missing %}x{% else %}E{% endfor %}", "{% for x in t %}{% endfor %}",
    "{% for x in xs %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}", "{% for x in xs %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "{% break %}",
    "{% for x in xs %}{% for y in xs %}{% break %}{% endfor %}{{ x }}{% endfor %}",
    "{% for x in xs %}{% set y = x %}{% endfor %}{{ y is defined }}", "{% set y = 0 %}{% for x in xs %}{{ y }}{% set y = x %}{{ y }} {% endfor %}{{ y }}",
    "{% for x in xs %}{{ x }}{% endfor %}{{ x is defined }}", "{{ loop is defined }}{% for loop_ in xs %}{{ loop.index }}{% endfor %}",
    "{% for x in tree recursive %}{{ x.v }}{% if x.c %}({{ loop(x.c) }}){% endif %}{{ loop.depth }}{% endfor %}", "{% for x in xs %}{{ loop([]) }}{% endfor %}",
    "{% for m in msgs[1:] %}{{ m.role }}{{ m['content'] }};{% endfor %}", "{% for m in msgs[::-1] %}{{ m.role }} {% endfor %}",
    "{% for x in range(3) %}{{ x }}{% endfor %}", "{% for x in xs|sort %}{{ x }}{% endfor %}", "{% for x in xs|map('string') %}{{ loop.last }}{% endfor %}",
    "{% set g = msgs|selectattr('role', 'equalto', 'user') %}{{ g|list|length }}{{ g|list|length }}", "{% set g = xs|reverse %}{% for x in g %}{{ x }}{% endfor %}{% for x in g %}{{ x }}{% endfor %}",
    "{% set x = 1 %}{{ x }}", "{% set x, y = 1, 2 %}{{ x }}{{ y }}", "{% set x = 1, 2 %}{{ x }}", "{% set x %}block {{ s }}{% endset %}{{ x }}|{{ x|length }}",
    "{% set x | upper %}block {{ s }}{% endset %}{{ x }}", "{% set x | replace('b', 'c') | trim %} b {% endset %}[{{ x }}]",
    "{% set ns = namespace(a=1, b=[]) %}{% set ns.a = 2 %}{% for x in xs %}{% set ns.b = ns.b + [x] %}{% set ns.a = ns.a + x %}{% endfor %}{{ ns.a }}{{ ns.b }}",
    "{% set ns = namespace() %}{% set ns.x %}cap{% endset %}{{ ns.x }}", "{% set d.x = 1 %}", "{% set ns = namespace(found=false) %}{% for x in xs %}{% if x == 1 %}{% set ns.found = true %}{% endif %}{% endfor %}{{ ns.found }}",
    "{% set s = 'shadow' %}{{ s }}", "{% if t %}{% set z = 5 %}{% endif %}{{ z }}", "{% if no %}{% set z = 5 %}{% endif %}[{{ z }}]", "{% set true = 1 %}", "{% set x.y.z = 1 %}", "{% set 5 = 1 %}",
    "{% macro m(a, b=2) %}{{ a }}-{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=4) }} {{ m() }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(z=2) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}in{% endcall %}", "{% macro m(x) %}[{{ caller(x, 2) }}]{% endmacro %}{% call(a, b) m(1) %}{{ a }}{{ b }}{% endcall %}",
    "{% macro m() %}x{% endmacro %}{% call m() %}in{% endcall %}", "{% macro m() %}{{ caller is defined }}{% if caller %}{{ caller() }}{% endif %}{% endmacro %}{{ m() }}",
    "{% macro f(n) %}{% if n > 0 %}{{ n }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(5) }}", "{% macro m() %}{{ s }}{{ later }}{% endmacro %}{% set later = 'L' %}{{ m() }}",
    "{% macro m() %}{% set s = 'inner' %}{{ s }}{% endmacro %}{{ m() }}{{ s }}", "{% for x in xs %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% macro a() %}A{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}", "{% macro m(x) %} {{ x }} {% endmacro %}{{ m('y')|trim }}|{{ m('y')|length }}", "{{ m() }}{% macro m() %}x{% endmacro %}",
    "{% macro m(a, b) %}{{ b }}{% endmacro %}{{ m(1).x }}", "{% macro m(a, b) %}{{ b is defined }}{{ b }}{% endmacro %}{{ m(1) }}", "{% macro m(a=1, b) %}{% endmacro %}", "{% macro m(*a) %}{% endmacro %}", "{% macro m %}{% endmacro %}", "{{ m is defined }}{% macro m() %}{% endmacro %}{{ m is defined }}{{ m.name }}",
    "{% set args = [1, 2] %}{% macro m(a, b, c=0) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(*args, c=3) }}{{ m(**{'a': 7, 'b': 8}) }}",
    "{% filter upper %}abc {{ s }}{% endfilter %}", "{% filter trim|length %}  abc {% endfilter %}", "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q is defined }}", "{% with a = 1, b = s %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}",
    "{% generation %}gen {{ s }}{% endgeneration %}", "{% for x in xs %}{% generation %}{{ x }}{% set y = x %}{% endgeneration %}{{ y is defined }}{% endfor %}", "x {%- generation -%} y {%- endgeneration -%} z",
    "{% if no %}{{ s|nofilter }}{% endif %}ok", "{% if no %}{{ s is notest }}{% endif %}ok", "{{ s|nofilter if no else 'ok' }}", "{% if t %}{{ s|nofilter }}{% endif %}", "{% if no %}{% for x in xs %}{{ s|nofilter }}{% endfor %}{% endif %}",
    "{{ raise_exception('no') }}", "{% if no %}{{ raise_exception('no') }}{% endif %}ok", "{{ missing.attr }}", "{% if missing %}x{% endif %}ok", "{% if missing.attr %}x{% endif %}", "{% if missing is defined and missing.attr %}x{% endif %}ok",
    "{% for i in range(2) %}\n  {{ i }}\n{% endfor %}\nend", "{%- for m in msgs -%}\n  {{- '<|' + m.role + '|>' -}}\n{%- endfor -%}\n", "{% for x in xs -%}\n  {{ x }}\n{%- endfor %}", "{%- set x = 1 -%}\n\n{{ x }}", "a{{ '' }}\nb", "{{ 'a' -}}   \n b", "  {{- 'x' }}", "a\n\n  {#- c #}\nb", "a  {#+ c +#}\nb",
    "{{ s | upper | replace('L', 'l') }}", "{{ (s | length) + 1 }}", "{{ s | length + 1 }}", "{{ 1 if 2 is even else 3 }}", "{{ xs | join(', ') if xs else 'none' }}", "{{ [x for x in xs] }}", "{{ lambda: 1 }}",
    "{% set x = {'a': 1} %}{% set x = dict(x, b=2) %}{{ x }}", "{% set l = [] %}{% set l = l + [1] %}{% set l = l + [2] %}{{ l }}", "{% set l = [] %}{{ l.append(1) }}", "{% do xs.append(1) %}",
    "{% set m = msgs[0] %}{{ m.role }}{{ m['role'] }}{{ m.get('role') }}{{ m.nope is defined }}", "{% set x = msgs[0]['content'] + 'x' %}{{ x }}", "{{ msgs[2].content + 'x' }}", "{{ msgs[-1].role == 'user' }}", "{{ msgs|length - 1 }}",
    "{% if 'x' in d and d.x %}a{% endif %}ok", "{% if (t and not no) or missing %}ok{% endif %}", "{%if t%}x{%endif%}", "{%-if t-%} x {%-endif-%}", "{{s}}{{-s-}}", "{%   if   t   %}x{%  endif  %}", "{{ s\n  | upper\n}}", "{% set x = [\n  1,\n  2,\n] %}{{ x }}", "{% set x = {\n 'a': 1,\n} %}{{ x }}",
    "{{ 'a\nb' }}", "{{ 'a\\\nb' }}", "{{ \"tab\\there\" }}", "{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as y %}",
    "{% set counter = namespace(v=0) %}{% macro inc() %}{% set counter.v = counter.v + 1 %}{{ counter.v }}{% endmacro %}{{ inc() }}{{ inc() }}", "{% set x = 1 %}{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}",
    "{% for k, v in d|dictsort %}{{ k }}{% endfor %}", "{% for k, v in d|items %}{{ k }}{{ loop.last }}{% endfor %}", "{% for g, l in msgs|groupby('role') %}{{ g }}:{{ l|length }} {% endfor %}", "{% for g in msgs|groupby('role') %}{{ g.grouper }}:{{ g.list|length }} {% endfor %}",
    "{% set ns = namespace(x=1) %}{{ ns.x }}{{ ns.y is defined }}{{ ns['x'] }}", "{% set a = b = 1 %}", "{{ 1 }}{{ 2 }}", "{{ 1 2 }}", "{% if t %}}{% endif %}", "{ { s } }", "{{ '%}' }}{% if '%}' %}x{% endif %}", "#}{#", "%} }}", "{%raw%}x{%endraw%}", "{{ xs[1:2][0] }}{{ xs[:][0] }}{{ xs[::][0] }}",
]


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_support"), [], [], body).set_lineno(lineno)

    def _support(self, caller):
        return caller()


def environment():
    import datetime

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda f: datetime.datetime(2024, 7, 26, 14, 5, 9).strftime(f)
    return env


def main():
    print(json.dumps(CONTEXT))
    env = environment()
    sources = ["{{ " + line + " }}" for line in EXPRESSIONS.strip("\n").split("\n")] + TEMPLATES
    corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../fuzz/corpus/template")
    sources += [open(name, encoding="utf-8").read() for name in sorted(glob.glob(corpus + "/*.jinja"))]
    for source in sources:
        row = {"source": source}
        try:
            row["output"] = env.from_string(source).render(**json.loads(json.dumps(CONTEXT)))
        except Exception as e:
            row["error"] = type(e).__name__
        print(json.dumps(row))


main()
