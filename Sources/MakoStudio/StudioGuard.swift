/// Checks that requests to the server of Mako Studio come from the page it served.
///
/// Another web page can make the browser send requests to this machine, and can resolve its own host name to it. Its
/// requests lack the cookie or have another `Host`.
package struct StudioGuard: Sendable {
    /// The parts of a request that are checked.
    package struct Request: Sendable {
        package var method: String
        package var host: String?
        package var origin: String?
        /// The header `Sec-Fetch-Site`, which pages cannot set.
        package var site: String?
        package var cookie: String?
        package var contentType: String?

        package init(
            method: String, host: String?, origin: String? = nil, site: String? = nil, cookie: String? = nil,
            contentType: String? = nil
        ) {
            self.method = method
            self.host = host
            self.origin = origin
            self.site = site
            self.cookie = cookie
            self.contentType = contentType
        }
    }

    /// The token of the link, 32 hexadecimal digits. Programs that open links, and scrollback, may show it later: it is
    /// exchanged once, and is never the value of the cookie.
    package let token = newToken()
    /// The value of the cookie, another 32 hexadecimal digits.
    package let session = newToken()
    package let port: UInt16

    /// Includes the port, because browsers send cookies to every port of a host.
    package var cookieName: String { "mako-studio-\(port)" }

    package init(port: UInt16) { self.port = port }

    /// Returns a token of 128 random bits.
    private static func newToken() -> String {
        var random = SystemRandomNumberGenerator()
        let words: [UInt64] = [random.next(), random.next()]
        return words.map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Browsers leave out the port 80, in `Origin` too.
    private var hosts: [String] {
        let names = ["127.0.0.1", "localhost", "[::1]"]
        return names.map { "\($0):\(port)" } + (port == 80 ? names : [])
    }

    /// Returns why a request is refused, whatever its cookie; nil for an allowed request.
    package func refusal(of request: Request) -> String? {
        guard let host = request.host?.lowercased(), hosts.contains(host) else {
            return "The Host of the request is not this server."
        }
        if let site = request.site, !["same-origin", "none"].contains(site) {
            return "The request comes from another site."
        }
        if let origin = request.origin, origin != "http://\(host)" { return "The request comes from another origin." }
        guard request.method != "GET" else { return nil }
        if request.site != "same-origin" && request.origin == nil {
            return "A request that writes must say that it comes from this page."
        }
        if request.method == "POST", !isJSON(request.contentType) { return "The body of a request must be JSON." }
        return nil
    }

    private func isJSON(_ type: String?) -> Bool {
        type?.lowercased().split(separator: ";").first.map { String($0).hasSuffix("application/json") } == true
    }

    /// Returns whether the request has the cookie of this session.
    package func isKnown(_ request: Request) -> Bool {
        let name = cookieName + "="
        return (request.cookie ?? "").split(separator: ";").contains { part in
            let text = part.drop { $0 == " " }
            return text.hasPrefix(name) && Self.isSame(text.dropFirst(name.count), session)
        }
    }

    /// Returns whether a text is the token of the link.
    package func isToken(_ text: String) -> Bool { Self.isSame(text, token) }

    /// Compares in constant time, so that the time reveals no digits.
    private static func isSame(_ text: some StringProtocol, _ token: String) -> Bool {
        let (given, own) = (Array(text.utf8), Array(token.utf8))
        guard given.count == own.count else { return false }
        return zip(given, own).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// The headers of every response.
    package static let headers = [
        "Content-Security-Policy":
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
            + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
        "Cross-Origin-Resource-Policy": "same-origin", "X-Frame-Options": "DENY",
    ]
}
