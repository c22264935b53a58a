#if Replication
    import Foundation

    /// The keys of an account.
    public struct S3Credentials: Sendable, Hashable, CustomStringConvertible {
        /// The identifier of the access key.
        public var keyID: String
        /// The secret access key.
        public var secretKey: String
        /// The token of temporary keys.
        public var sessionToken: String?

        /// Creates the keys of an account.
        public init(keyID: String, secretKey: String, sessionToken: String? = nil) {
            self.keyID = keyID
            self.secretKey = secretKey
            self.sessionToken = sessionToken
        }

        /// The identifier alone, so that no secret reaches a log.
        public var description: String { "S3Credentials(\(keyID))" }
    }

    /// The environment variables and files of the AWS tools.
    struct S3Environment: Sendable {
        var variables: [String: String]
        /// Reads a file; nil when there is none.
        var read: @Sendable (_ path: String) -> String?

        static var current: S3Environment {
            S3Environment(variables: ProcessInfo.processInfo.environment) { path in
                guard let bytes = FileManager.default.contents(atPath: path) else { return nil }
                return String(bytes: bytes, encoding: .utf8)
            }
        }

        /// A variable that is set and not empty.
        private func variable(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

        // MARK: What they say

        /// The keys: of the environment, then of the profile in the file of credentials, then in that of the configuration.
        func credentials() throws(ObjectStoreError) -> S3Credentials {
            if let keyID = variable("AWS_ACCESS_KEY_ID"), let secret = variable("AWS_SECRET_ACCESS_KEY") {
                return S3Credentials(keyID: keyID, secretKey: secret, sessionToken: variable("AWS_SESSION_TOKEN"))
            }
            for section in [credentialsSection, configurationSection].compactMap({ $0 }) {
                guard let keyID = section["aws_access_key_id"], let secret = section["aws_secret_access_key"] else {
                    continue
                }
                return S3Credentials(keyID: keyID, secretKey: secret, sessionToken: section["aws_session_token"])
            }
            throw .setup(.noCredentials, reason: reasonForNone)
        }

        var region: String? {
            variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") ?? configurationSection?["region"]
        }

        var endpoint: String? {
            variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL") ?? configurationSection?["endpoint_url"]
        }

        private var reasonForNone: String {
            let places =
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set, and profile '\(profile)' has no keys in \(credentialsPath) and \(configurationPath)"
            let other = ["sso_session", "sso_start_url", "role_arn", "credential_process", "web_identity_token_file"]
                .first { credentialsSection?[$0] != nil || configurationSection?[$0] != nil }
            guard let other else { return places + "; the metadata of cloud machines is not read" }
            return places
                + "; its \(other) is not supported: 'aws configure export-credentials --format env' prints keys to set"
        }

        // MARK: Files

        private var profile: String { variable("AWS_PROFILE") ?? "default" }

        private func path(_ variable: String, _ name: String) -> String {
            self.variable(variable) ?? (self.variable("HOME") ?? "") + "/.aws/" + name
        }

        private var credentialsPath: String { path("AWS_SHARED_CREDENTIALS_FILE", "credentials") }
        private var configurationPath: String { path("AWS_CONFIG_FILE", "config") }

        private var credentialsSection: [String: String]? {
            read(credentialsPath).flatMap { S3Environment.section(profile, of: $0) }
        }

        private var configurationSection: [String: String]? {
            let title = profile == "default" ? "default" : "profile \(profile)"
            return read(configurationPath).flatMap { S3Environment.section(title, of: $0) }
        }

        /// The settings below a title in brackets. Indented lines belong to a setting before them and are skipped.
        static func section(_ title: String, of text: String) -> [String: String]? {
            var settings: [String: String]?
            var isInside = false
            for line in text.split(whereSeparator: \.isNewline) {
                let trimmed = line.trimmingCharacters(in: .whitespaces)
                if trimmed.hasPrefix("#") || trimmed.hasPrefix(";") { continue }
                if trimmed.hasPrefix("["), let end = trimmed.firstIndex(of: "]") {
                    let words = trimmed[trimmed.index(after: trimmed.startIndex)..<end].split(separator: " ")
                    isInside = words.joined(separator: " ") == title
                    if isInside && settings == nil { settings = [:] }
                    continue
                }
                guard isInside, line.first?.isWhitespace == false, let equals = trimmed.firstIndex(of: "=") else {
                    continue
                }
                let name = trimmed[..<equals].trimmingCharacters(in: .whitespaces).lowercased()
                let value = trimmed[trimmed.index(after: equals)...].trimmingCharacters(in: .whitespaces)
                if !value.isEmpty { settings?[name] = value }
            }
            return settings
        }
    }
#endif
