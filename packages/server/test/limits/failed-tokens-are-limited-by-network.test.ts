import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressKey } from '../../src/http/authorize.ts';

describe('the key of a client address', () => {
  it.each([
    ['an IPv4 address', '203.0.113.7', '203.0.113.7'],
    ['an IPv4 address with a port', '203.0.113.7:55012', '203.0.113.7'],
    ['an IPv4 address in IPv6', '::ffff:203.0.113.7', '203.0.113.7'],
    ['an IPv4 address in IPv6, in capitals', '::FFFF:203.0.113.7', '203.0.113.7'],
    ['an IPv4 address in IPv6, in hex', '::ffff:cb00:7107', '203.0.113.7'],
    ['an IPv6 address', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['one with leading zeros', '2001:0db8:0001:0002::1', '2001:db8:1:2::/64'],
    ['one in capitals', '2001:DB8:1:2::A', '2001:db8:1:2::/64'],
    ['one in brackets with a port', '[2001:db8:1:2::1]:443', '2001:db8:1:2::/64'],
    ['one with a zone', 'fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['one that ends in zeros', '2001:db8::', '2001:db8:0:0::/64'],
    ['one that ends in an IPv4 address', '64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['the loopback address', '::1', '0:0:0:0::/64'],
    ['the placeholder of a proxy', 'unknown', 'unknown'],
    ['nothing', '', ''],
  ])('%s: %s', (_what, address, expected) => {
    expect(addressKey(address)).toBe(expected);
  });

  it('is the same for all IPv6 addresses of a /64 network, and differs between networks', () => {
    const group = fc.nat(0xffff).map((number) => number.toString(16));
    const half = fc.array(group, { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(half, half, half, half, (network, other, hosts, moreHosts) => {
        const key = addressKey([...network, ...hosts].join(':'));
        expect(addressKey([...network, ...moreHosts].join(':'))).toBe(key);
        const same = network.join(':') === other.join(':');
        expect(addressKey([...other, ...hosts].join(':')) === key).toBe(same);
      }),
    );
  });

  it('is the same for every notation of an address', () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
        expect(addressKey(address)).toBe(addressKey(canonical));
      }),
    );
  });

  it('is defined for every text', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void addressKey(text)));
  });
});
