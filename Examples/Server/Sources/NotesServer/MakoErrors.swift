import Hummingbird
import Mako

/// Maps each error of the database to an HTTP status.
struct MakoErrors<Context: RequestContext>: RouterMiddleware {
    func handle(
        _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as MakoError {
            let status = Self.status(of: error)
            if status.code >= 500 { context.logger.error("\(error)") }
            throw HTTPError(status, message: status.code < 500 ? "\(error)" : "internal error")
        }
    }

    private static func status(of error: MakoError) -> HTTPResponse.Status {
        switch error {
        case .notFound: .notFound
        case .duplicate, .deniedByReference, .danglingReference: .conflict
        case .query, .unknownProperty, .typeMismatch, .missingValue, .unstorableValue, .invalidArgument: .badRequest
        case .vetoed: .unprocessableContent
        case .readOnly, .writerTimeout, .alreadyOpen, .closed, .storage(.protected): .serviceUnavailable
        default: .internalServerError
        }
    }
}
