import MakoStudio
import Testing

/// Which requests the server of Mako Studio accepts.
@Suite struct StudioGuardTests {
    private let access = StudioGuard(port: 4000)

    private func request(
        _ method: String = "GET", host: String? = "127.0.0.1:4000", origin: String? = nil, site: String? = nil,
        type: String? = nil
    ) -> StudioGuard.Request {
        StudioGuard.Request(method: method, host: host, origin: origin, site: site, contentType: type)
    }

    @Test func onlyLoopbackNamesWithThePortAreTheServer() {
        for host in ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000", "[::1]:4000"] {
            #expect(access.refusal(of: request(host: host)) == nil)
        }
        for host in [
            nil, "127.0.0.1", "127.0.0.1:4001", "example.com:4000", "127.0.0.1:4000.example.com", "", "[::1]",
            "::1:4000", "[::]:4000",
        ] {
            #expect(access.refusal(of: request(host: host)) != nil)
        }
    }

    @Test func browsersLeaveOutThePort80() {
        let access = StudioGuard(port: 80)
        for host in ["127.0.0.1", "localhost:80", "[::1]"] {
            #expect(access.refusal(of: request(host: host, origin: "http://\(host)")) == nil)
        }
        #expect(access.refusal(of: request(host: "example.com")) != nil)
    }

    @Test func otherSitesAreRefused() {
        for site in ["cross-site", "same-site", "?"] { #expect(access.refusal(of: request(site: site)) != nil) }
        for origin in ["http://localhost:4000", "https://127.0.0.1:4000", "null", ""] {
            #expect(access.refusal(of: request(origin: origin)) != nil)
        }
        #expect(access.refusal(of: request(origin: "http://127.0.0.1:4000", site: "same-origin")) == nil)
    }

    @Test func requestsThatWriteSayWhereTheyComeFromAndAreJSON() {
        let json = "application/json"
        #expect(access.refusal(of: request("POST", type: json)) != nil)
        #expect(access.refusal(of: request("POST", site: "none", type: json)) != nil)
        #expect(access.refusal(of: request("POST", site: "same-origin", type: "text/plain")) != nil)
        #expect(access.refusal(of: request("POST", site: "same-origin", type: json + "; charset=utf-8")) == nil)
        #expect(access.refusal(of: request("DELETE")) != nil)
        #expect(access.refusal(of: request("DELETE", origin: "http://127.0.0.1:4000")) == nil)
    }

    @Test func theCookieOfTheSessionIsKnownAndNoOther() {
        func isKnown(_ cookie: String?) -> Bool {
            access.isKnown(StudioGuard.Request(method: "GET", host: nil, cookie: cookie))
        }
        let own = "\(access.cookieName)=\(access.session)"
        #expect(isKnown(own))
        #expect(isKnown("a=b; " + own))
        for cookie in [nil, "", own + "0", String(own.dropLast()), "mako-studio-4001=" + access.session] {
            #expect(!isKnown(cookie))
        }
    }

    /// The link stays in scrollback and in the arguments of the program that opened it.
    @Test func theTokenOfTheLinkIsNoCookie() {
        let cookie = "\(access.cookieName)=\(access.token)"
        #expect(!access.isKnown(StudioGuard.Request(method: "GET", host: nil, cookie: cookie)))
        #expect(access.isToken(access.token) && !access.isToken(access.session))
    }

    @Test func tokensHave128BitsAndDiffer() {
        let tokens = (0..<50).map { _ in StudioGuard(port: 4000) }.flatMap { [$0.token, $0.session] }
        #expect(tokens.allSatisfy { $0.utf8.count == 32 && $0.allSatisfy(\.isHexDigit) })
        #expect(Set(tokens).count == 100)
    }
}
